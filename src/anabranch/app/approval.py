"""Approvals of a project's plans and runs: given, revoked, and asked for before production changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.approval.approval import (
    GIVEN,
    REVOKED,
    AcceptedStaging,
    Approval,
    ApprovalContext,
    ApprovalStatus,
    approval_status,
    approvals_of,
    given,
    read_approvals,
)
from anabranch.gates.approval.refusals import explain, next_approval, require_approval
from anabranch.gates.approval.roles import (
    ROLLBACK_OVERRIDE,
    needs_override,
    not_rollback_authority,
    require_approver,
    require_operator,
    require_promoter,
)
from anabranch.plan.plan_file import read_plan_file
from anabranch.promote.promotion import ApprovalNotRequired, ApprovedRun
from anabranch.promote.validations import last_accepted, validated_run
from anabranch.replay.staging import Staging, grown_from
from anabranch.runs.run import Run
from anabranch.runs.run_lease import RunLease, RunStore
from anabranch.runs.states import State

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun
    from anabranch.project.project import ContextSettings

DECIDED = frozenset(
    {State.REJECTED, State.PROMOTING, State.PROMOTED, State.ROLLING_BACK, State.CANCELLED, State.CLOSING, State.CLOSED}
)
"""The run is not waiting for anybody's yes."""


class NothingToApproveError(AnabranchError):
    code = "approval.nothing-to-approve"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class ApprovalSubject:
    """What is approved: a plan, and if there is a run of it, what that has come to."""

    plan: str
    contract: str
    run: Run | None = None
    judged: AcceptedStaging | None = None

    @property
    def name(self) -> str:
        return f"plan {self.plan[:12]}" if self.run is None else f"run {self.run.id}"


def subject_of_plan(file: Path) -> ApprovalSubject:
    """A plan that `anabranch plan --out` wrote, before anything runs. Its author is known once it is submitted."""
    plan = read_plan_file(file).plan
    return ApprovalSubject(plan.hash, plan.contract)


def subject_of_run(backfill: BackfillRun) -> ApprovalSubject:
    run = backfill.run
    judged = last_accepted(backfill.store.reader, run.id)
    return ApprovalSubject(backfill.plan.hash, run.contract_hash, run, judged)


def approve(
    store: RunStore, settings: ContextSettings, subject: ApprovalSubject, *, who: str, reason: str | None, now: datetime
) -> Approval:
    """Put on record that `who` agrees to the subject as it is now."""
    run = subject.run
    if run is not None and run.state in DECIDED:
        raise NothingToApproveError(
            f"Run {run.id} is {run.state.value}, and not waiting for an approval.",
            state=NOTHING_CHANGED,
            command=f"anabranch status {run.id}",
            run_state=run.state.value,
        )
    author = None if run is None else run.author
    require_approver(settings.roles, who, author, another=settings.needs_approval)
    details = given(subject.plan, subject.contract, subject.judged, reason, now + settings.approval.lifetime)
    record = store.writer.record_act(GIVEN, actor=who, run_id=None if run is None else run.id, details=details)
    return read_approvals([record], subject.contract, subject.plan)[0]


def revoke(store: RunStore, subject: ApprovalSubject, *, who: str, reason: str) -> None:
    """Put on record that no approval of this plan given so far counts any more. Anybody may: it only ever stops."""
    run_id = None if subject.run is None else subject.run.id
    details = {"plan": subject.plan, "contract": subject.contract, "reason": reason}
    store.writer.record_act(REVOKED, actor=who, run_id=run_id, details=details)


def standing(backfill: BackfillRun, now: datetime, staging: Staging | None = None) -> ApprovalStatus:
    """Whether the run is approved. Without `staging`, by what is on record alone: nobody looks at the table."""
    run, grown = backfill.run, None
    if staging is not None:
        root = backfill.plan.root
        grown = grown_from(root, backfill.target.staging_commits(staging.name, root))
    roles = backfill.project_context.loaded.settings.roles
    # The plan as it would be carried out, not the hash that was noted when it was submitted.
    present = ApprovalContext(run.author, backfill.plan.hash, roles.approvers, grown)
    return approval_status(approvals_of(backfill.store.reader, run), present, now)


def is_cleared(backfill: BackfillRun, now: datetime) -> bool:
    """Whether nobody's yes is missing, by what is on record."""
    return not backfill.project_context.loaded.settings.needs_approval or standing(backfill, now).holds


def approval_document(backfill: BackfillRun, now: datetime) -> dict[str, object]:
    """Where approval stands, for people and scripts."""
    found, needed = standing(backfill, now), backfill.project_context.loaded.settings.needs_approval
    words = "not asked for in this context"
    if found.approval is not None and found.flaw is not None:
        words = f"void: {explain(found.approval, found.flaw)}"
    elif found.approval is not None:
        words = f"by {found.approval.by} until {found.approval.good_until:%Y-%m-%d %H:%M} UTC"
    elif needed:
        words = f"needed: {next_approval(backfill.run)}"
    newest = None if found.approval is None else found.approval.document()
    return {"needed": needed, "holds": found.holds, "words": words, "newest": newest}


def approved_run(backfill: BackfillRun, lease: RunLease, staging: Staging, now: datetime) -> ApprovedRun:
    """The validated run, if whoever holds it may promote it and it is approved as far as the context asks."""
    loaded = backfill.project_context.loaded
    settings, run = loaded.settings, lease.run
    needed = settings.needs_approval
    author_may = settings.approval.author_may_promote or not needed
    require_promoter(settings.roles, lease.actor, run, author_may=author_may)
    validated = validated_run(lease.reader, run.id, backfill.plan)
    if not needed:
        return ApprovedRun(validated, ApprovalNotRequired(loaded.context))
    return ApprovedRun(validated, require_approval(standing(backfill, now, staging), run))


def require_steering(backfill: BackfillRun, act: str) -> None:
    """Stop whoever may not resume, throttle, cancel or close this run. Pausing is open to everybody: it protects."""
    from anabranch.app.backfill import operator

    require_operator(backfill.project_context.loaded.settings.roles, operator()[1], backfill.run, act)


def require_rollback_authority(backfill: BackfillRun, lease: RunLease, override: str | None) -> None:
    """Those whom roles or contract name may roll back; anybody may in an emergency, with a reason on record."""
    roles = backfill.project_context.loaded.settings.roles
    # As it was written: a file that the contract points to and that is gone must not stand in a rollback's way.
    authority = str(lease.reader.documents(lease.run_id).contract["spec"]["rollback"]["authority"])  # type: ignore[index]
    if not needs_override(roles, authority, lease.actor):
        return
    if override is None:
        raise not_rollback_authority(roles, authority, lease.actor, lease.run)
    details = {"reason": override, "named": [*roles.rollback, authority]}
    lease.writer.record_act(ROLLBACK_OVERRIDE, actor=lease.actor, run_id=lease.run_id, details=details)
