"""Who may what: the roles that a context names, and the refusals that name who may instead. Pure."""

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
    """`another`: whether the context asks for somebody other than the author."""
    if another and who == author:
        raise ApprovedByAuthorError(
            f"You are {who}, the author of what is to be approved, and somebody else has to agree.",
            state=NOTHING_CHANGED,
            hint=f"ask {_names(roles.approvers) or 'a colleague'} to run the same command",
            author=author,
        )
    if roles.approvers and who not in roles.approvers:
        raise NotApproverError(
            f"You are {who}; {_names(roles.approvers)} may approve in this context.",
            state=NOTHING_CHANGED,
            hint="ask one of them, or have spec.contexts.<name>.roles.approvers changed in anabranch.yaml",
            approvers=list(roles.approvers),
        )


def require_promoter(roles: RoleSettings, who: str, run: Run, *, author_may: bool) -> None:
    if who == run.author and not author_may:
        raise PromotedByAuthorError(
            f"You are {who}, the author of run {run.id}, and in this context somebody else promotes it.",
            state=AS_BEFORE,
            hint=f"ask {_names(roles.operators) or 'a colleague'} to run `anabranch promote {run.id}`",
            author=run.author,
        )
    if roles.operators and who not in roles.operators:
        raise _not_operator(roles, who, "promote", AS_BEFORE)


def require_operator(roles: RoleSettings, who: str, run: Run, act: str) -> None:
    """Of what steers or ends a run: its author may too."""
    if roles.operators and who not in (*roles.operators, run.author):
        raise _not_operator(roles, who, f"{act} a run of {run.author}", NOTHING_CHANGED)


def require_named_operator(roles: RoleSettings, who: str, act: str) -> None:
    """Of what counts for every run of a contract, before any of them has an author."""
    if roles.operators and who not in roles.operators:
        raise _not_operator(roles, who, act, NOTHING_CHANGED)


def needs_override(roles: RoleSettings, authority: str, who: str) -> bool:
    """Whether `who` may roll back only with an override: neither the contract's `authority` nor named by the roles.

    The contract's authority counts in a context that names nobody for `roles.rollback` too.
    """
    return who not in (*roles.rollback, authority)


def not_rollback_authority(roles: RoleSettings, authority: str, who: str, run: Run) -> NotRollbackAuthorityError:
    may = dict.fromkeys((*roles.rollback, authority))
    return NotRollbackAuthorityError(
        f"You are {who}; {_names(may)} may roll back run {run.id}.",
        state="Production still has the run; nothing was changed.",
        hint=f'ask one of them, or in an emergency: anabranch rollback {run.id} --override --reason "…"',
        may=list(may),
    )


def rollback_overrides_of(reader: RunReader, run_id: str) -> list[dict[str, object]]:
    """Who rolled the run back against the roles, when and why."""
    records = reader.audit(run_id=run_id, action=ROLLBACK_OVERRIDE)
    return [{"by": each.actor, "at": each.at, "reason": json.loads(each.details)["reason"]} for each in records]


def _not_operator(roles: RoleSettings, who: str, act: str, state: str) -> NotOperatorError:
    return NotOperatorError(
        f"You are {who}; {_names(roles.operators)} may {act} in this context.",
        state=state,
        hint="ask one of them, or have spec.contexts.<name>.roles.operators changed in anabranch.yaml",
        operators=list(roles.operators),
    )


def _names(people: Iterable[str]) -> str:
    return " or ".join(people)
