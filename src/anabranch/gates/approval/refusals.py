"""What a promotion without a good approval is refused with: one error for each reason."""

from __future__ import annotations

from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates.approval.approval import Approval, ApprovalFlaw, ApprovalStatus
from anabranch.runs.run import Run

AS_BEFORE = "Production is as before; staging is kept."


class ApprovalError(AnabranchError):
    """Somebody has to agree first, or anew."""

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
    """The approval that counts, or an error that says why none does and how to come by one."""
    approval, flaw = standing.approval, standing.flaw
    if approval is None:
        raise ApprovalMissingError(
            f"Nobody has approved run {run.id}, and this context asks for it.",
            state=AS_BEFORE,
            hint=next_approval(run),
            run=run.id,
            plan=run.plan_hash,
        )
    if flaw is None:
        return approval
    raise _KINDS[flaw](
        f"The approval of run {run.id} by {approval.by} does not count: {explain(approval, flaw)}.",
        state=AS_BEFORE,
        hint=next_approval(run),
        run=run.id,
        plan=run.plan_hash,
        approval=approval.number,
    )


def next_approval(run: Run) -> str:
    return f"anabranch approve {run.id}, by somebody other than its author {run.author}"


def explain(approval: Approval, flaw: ApprovalFlaw) -> str:
    """The reason in words."""
    end = approval.end
    because = f" ({end.reason})" if end is not None and end.reason else ""
    match flaw:
        case ApprovalFlaw.PLAN_CHANGED:
            return f"it was given to plan {approval.plan[:12]}, and this is another one"
        case ApprovalFlaw.STAGING_CHANGED:
            return "what is staged has changed since, and not by catching up with live alone"
        case ApprovalFlaw.REVOKED:
            return f"{end.by if end else 'somebody'} has revoked it{because}"
        case ApprovalFlaw.ROLLED_BACK:
            return "the run was rolled back since, and promoting it again is a new decision"
        case ApprovalFlaw.BY_AUTHOR:
            return "it is by the run's author, and somebody else has to agree"
        case ApprovalFlaw.NOT_APPROVER:
            return "the context names others as approvers"
        case ApprovalFlaw.EXPIRED:
            return f"it counted until {approval.good_until:%Y-%m-%d %H:%M} UTC"
