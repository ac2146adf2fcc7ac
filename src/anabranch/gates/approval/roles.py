"""Role checks: which users may operate, approve and roll back; a refusal names those who may. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.approval.refusals import AS_BEFORE, ApprovedByAuthorError, NotApproverError
from anabranch.project.sections.approval import RoleSettings
from anabranch.runs.run import Run
from anabranch.runs.store import RunReader

ROLLBACK_OVERRIDE = "rollback.override"


class NotOperatorError(AnabranchError):
    code = "roles.not-operator"
    exit_code = ExitCode.REFUSED


class PromotedByAuthorError(AnabranchError):
    code = "promote.by-author"
    exit_code = ExitCode.REFUSED


class NotRollbackAuthorityError(AnabranchError):
    code = "rollback.not-authority"
    exit_code = ExitCode.REFUSED


def require_approver(roles: RoleSettings, who: str, author: str | None, *, another: bool) -> None:
    """`another`: whether the context requires a person other than the author."""
    if another and who == author:
        raise ApprovedByAuthorError(
            f"Self-approval is not allowed: {who} is the author.",
            state=NOTHING_CHANGED,
            hint=f"Ask {_names(roles.approvers) or 'a colleague'} to run the same command.",
            author=author,
        )
    if roles.approvers and who not in roles.approvers:
        raise NotApproverError(
            f"{who} may not approve in this context; {_names(roles.approvers)} may.",
            state=NOTHING_CHANGED,
            hint="Ask one of them, or change spec.contexts.<name>.roles.approvers in anabranch.yaml.",
            approvers=list(roles.approvers),
        )


def require_promoter(roles: RoleSettings, who: str, run: Run, *, author_may: bool) -> None:
    if who == run.author and not author_may:
        raise PromotedByAuthorError(
            f"{who} is the author of run {run.id}; in this context the author may not promote it.",
            state=AS_BEFORE,
            command=f"anabranch promote {run.id}",
            hint=f"Ask {_names(roles.operators) or 'a colleague'} to promote it",
            author=run.author,
        )
    if roles.operators and who not in roles.operators:
        raise _not_operator(roles, who, "promote", AS_BEFORE)


def require_operator(roles: RoleSettings, who: str, run: Run, act: str) -> None:
    """For commands that control or end a run: its author may run them too."""
    if roles.operators and who not in (*roles.operators, run.author):
        raise _not_operator(roles, who, f"{act} a run of {run.author}", NOTHING_CHANGED)


def require_named_operator(roles: RoleSettings, who: str, act: str) -> None:
    """For actions on a contract that has no run, and therefore no author."""
    if roles.operators and who not in roles.operators:
        raise _not_operator(roles, who, act, NOTHING_CHANGED)


def needs_override(roles: RoleSettings, authority: str, who: str) -> bool:
    """Whether `who` needs an override to roll back: neither the contract's `authority` nor in the roles.

    The contract's authority may roll back also in a context without `roles.rollback`.
    """
    return who not in (*roles.rollback, authority)


def not_rollback_authority(roles: RoleSettings, authority: str, who: str, run: Run) -> NotRollbackAuthorityError:
    may = dict.fromkeys((*roles.rollback, authority))
    return NotRollbackAuthorityError(
        f"{who} may not roll back run {run.id}; {_names(may)} may roll back.",
        state="Production still has the run. Nothing was changed.",
        command=f'anabranch rollback {run.id} --override --reason "…"',
        hint="Ask one of them. In an emergency, override on record",
        may=list(may),
    )


def rollback_overrides_of(reader: RunReader, run_id: str) -> list[dict[str, object]]:
    """The rollbacks of the run by override: user, time and reason."""
    records = reader.audit(run_id=run_id, action=ROLLBACK_OVERRIDE)
    return [{"by": each.actor, "at": each.at, "reason": json.loads(each.details)["reason"]} for each in records]


def _not_operator(roles: RoleSettings, who: str, act: str, state: str) -> NotOperatorError:
    return NotOperatorError(
        f"{who} may not {act} in this context; {_names(roles.operators)} may.",
        state=state,
        hint="Ask one of them, or change spec.contexts.<name>.roles.operators in anabranch.yaml.",
        operators=list(roles.operators),
    )


def _names(people: Iterable[str]) -> str:
    """`ann`, `ann or bob`, `ann, bob or dana`."""
    *others, last = [*people] or [""]
    return f"{', '.join(others)} or {last}" if others else last
