"""Gives and revokes approvals of plans and runs. Each is an audit record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.approval.approval import GIVEN, REVOKED, AcceptedStaging, Approval, given, read_approvals
from anabranch.gates.approval.roles import require_approver
from anabranch.project.project import ContextSettings
from anabranch.runs.run import Run
from anabranch.runs.run_lease import RunStore
from anabranch.runs.states import State

DECIDED = frozenset(
    {State.REJECTED, State.PROMOTING, State.PROMOTED, State.ROLLING_BACK, State.CANCELLED, State.CLOSING, State.CLOSED}
)
"""States in which a run waits for no approval."""


class NothingToApproveError(AnabranchError):
    code = "approval.nothing-to-approve"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class ApprovalSubject:
    """The subject of an approval: a plan and, if submitted, its run with the staging that validation accepted."""

    plan: str
    contract: str
    run: Run | None = None
    accepted: AcceptedStaging | None = None

    @property
    def name(self) -> str:
        return f"plan {self.plan[:12]}" if self.run is None else f"run {self.run.id}"


def approve(
    store: RunStore, settings: ContextSettings, subject: ApprovalSubject, *, who: str, reason: str | None, now: datetime
) -> Approval:
    """Record that `who` approves the subject as it is now. Raises if roles or the run's state forbid it."""
    run = subject.run
    if run is not None and run.state in DECIDED:
        raise NothingToApproveError(
            f"Run {run.id} is {run.state.value} and waits for no approval.",
            state=NOTHING_CHANGED,
            command=f"anabranch status {run.id}",
            run_state=run.state.value,
        )
    author = None if run is None else run.author
    require_approver(settings.roles, who, author, another=settings.needs_approval)
    details = given(subject.plan, subject.contract, subject.accepted, reason, now + settings.approval.lifetime)
    record = store.writer.record_act(GIVEN, actor=who, run_id=None if run is None else run.id, details=details)
    return read_approvals([record], subject.contract, subject.plan)[0]


def revoke(store: RunStore, subject: ApprovalSubject, *, who: str, reason: str) -> None:
    """Revoke every approval of this plan so far. Any user may: it can only stop a promotion."""
    run_id = None if subject.run is None else subject.run.id
    details = {"plan": subject.plan, "contract": subject.contract, "reason": reason}
    store.writer.record_act(REVOKED, actor=who, run_id=run_id, details=details)
