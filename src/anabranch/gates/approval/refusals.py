"""The refusals of a promotion without a valid approval: one error for each reason."""

from __future__ import annotations

from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates.approval.approval import Approval, ApprovalFlaw, ApprovalStatus
from anabranch.runs.run import Run

AS_BEFORE = "Production unchanged. Staging is kept."


class ApprovalError(AnabranchError):
    """The promotion needs an approval, or another one."""

    code = "approval.refused"
    exit_code = ExitCode.REFUSED


class ApprovalMissingError(ApprovalError):
    code = "approval.missing"


class ApprovedPlanChangedError(ApprovalError):
    code = "approval.plan-changed"
    exit_code = ExitCode.CONFLICT


class ApprovedStagingChangedError(ApprovalError):
    code = "approval.staging-changed"
    exit_code = ExitCode.CONFLICT


class ApprovalRevokedError(ApprovalError):
    code = "approval.revoked"


class ApprovalSpentError(ApprovalError):
    code = "approval.rolled-back"


class ApprovedByAuthorError(ApprovalError):
    code = "approval.by-author"


class NotApproverError(ApprovalError):
    code = "approval.not-approver"


class ApprovalExpiredError(ApprovalError):
    code = "approval.expired"


_KINDS: dict[ApprovalFlaw, type[ApprovalError]] = {
    ApprovalFlaw.PLAN_CHANGED: ApprovedPlanChangedError,
    ApprovalFlaw.STAGING_CHANGED: ApprovedStagingChangedError,
    ApprovalFlaw.REVOKED: ApprovalRevokedError,
    ApprovalFlaw.ROLLED_BACK: ApprovalSpentError,
    ApprovalFlaw.BY_AUTHOR: ApprovedByAuthorError,
    ApprovalFlaw.NOT_APPROVER: NotApproverError,
    ApprovalFlaw.EXPIRED: ApprovalExpiredError,
}


def require_approval(standing: ApprovalStatus, run: Run) -> Approval:
    """The valid approval. Raises ApprovalError with the reason and the command to approve."""
    approval, flaw = standing.approval, standing.flaw
    if approval is None:
        raise ApprovalMissingError(
            f"Run {run.id} has no approval, which this context requires.",
            state=AS_BEFORE,
            command=f"anabranch approve {run.id}",
            hint=f"Ask a person other than its author {run.author} to approve it",
            run=run.id,
            plan=run.plan_hash,
        )
    if flaw is None:
        return approval
    raise _KINDS[flaw](
        f"The approval of run {run.id} by {approval.by} is not valid: {explain(approval, flaw)}.",
        state=AS_BEFORE,
        command=f"anabranch approve {run.id}",
        hint=f"Ask a person other than its author {run.author} to approve it",
        run=run.id,
        plan=run.plan_hash,
        approval=approval.number,
    )


def next_approval(run: Run) -> str:
    return f"anabranch approve {run.id}, by a person other than its author {run.author}"


def explain(approval: Approval, flaw: ApprovalFlaw) -> str:
    """The reason in words."""
    end = approval.end
    because = f" ({end.reason})" if end is not None and end.reason else ""
    match flaw:
        case ApprovalFlaw.PLAN_CHANGED:
            return f"it was given to plan {approval.plan[:12]}, not to this one"
        case ApprovalFlaw.STAGING_CHANGED:
            return "staging has changed since, and not only by catching up with live"
        case ApprovalFlaw.REVOKED:
            return f"it was revoked by {end.by if end else 'an unknown person'}{because}"
        case ApprovalFlaw.ROLLED_BACK:
            return "the run was rolled back since; promoting it again needs a new approval"
        case ApprovalFlaw.BY_AUTHOR:
            return "it was given by the run's author; self-approval is not allowed"
        case ApprovalFlaw.NOT_APPROVER:
            return "the context names other approvers"
        case ApprovalFlaw.EXPIRED:
            return f"it expired at {approval.good_until:%Y-%m-%d %H:%M} UTC"
