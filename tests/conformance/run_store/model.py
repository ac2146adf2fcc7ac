"""The run store as a page of plain Python: what every interleaving of operators has to agree with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from anabranch.runs.audit import AuditRecord
from anabranch.runs.journal import Outcome
from anabranch.runs.ranges import TargetRange
from anabranch.runs.states import ACTIVE, TRANSITIONS, Event, State


class Refused(Exception):  # noqa: N818 - the model's word for every error of the store
    """The model says no; `code` is that of the error which the store has to raise."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class ModelRun:
    target: TargetRange
    contract: str
    state: State = State.PLANNED
    epoch: int = 0
    holder: str | None = None
    expires_at: datetime | None = None


@dataclass
class ModelStore:
    runs: dict[str, ModelRun] = field(default_factory=dict)
    journal: dict[str, tuple[str, Outcome | None]] = field(default_factory=dict)
    """By intent: the run and the outcome."""
    audit: list[tuple[str, str, str | None, str | None, int]] = field(default_factory=list)
    """(action, run, from, to, epoch), in order."""

    def submit(self, run_id: str, target: TargetRange, contract: str) -> str:
        """The id of the run that it leads to."""
        if run_id in self.runs:
            if self.runs[run_id].contract != contract:
                raise Refused("run.id-taken")
            return run_id
        active = {each: run for each, run in self.runs.items() if run.state in ACTIVE}
        for each, run in active.items():
            if run.contract == contract and run.target.table == target.table:
                return each
        if any(run.target.overlaps(target) for run in active.values()):
            raise Refused("run.range-held")
        self.runs[run_id] = ModelRun(target, contract)
        self.audit.append(("run.submit", run_id, None, "planned", 0))
        return run_id

    def acquire(self, run_id: str, holder: str, ttl: timedelta, now: datetime, take_over: bool) -> int:
        run = self.runs[run_id]
        held = run.holder not in (None, holder) and run.expires_at is not None and now < run.expires_at
        if held and not take_over:
            raise Refused("lease.held")
        run.epoch, run.holder, run.expires_at = run.epoch + 1, holder, now + ttl
        self.audit.append(("lease.take_over" if held else "lease.acquire", run_id, None, None, run.epoch))
        return run.epoch

    def fenced(self, run_id: str, epoch: int) -> ModelRun:
        run = self.runs[run_id]
        if run.epoch != epoch or run.holder is None:
            raise Refused("lease.superseded")
        return run

    def renew(self, run_id: str, epoch: int, ttl: timedelta, now: datetime) -> None:
        run = self.fenced(run_id, epoch)
        run.expires_at = max(run.expires_at or now, now + ttl)

    def release(self, run_id: str, epoch: int) -> None:
        run = self.fenced(run_id, epoch)
        run.holder = run.expires_at = None
        self.audit.append(("lease.release", run_id, None, None, epoch))

    def transition(self, run_id: str, epoch: int, event: Event) -> State:
        run = self.fenced(run_id, epoch)
        if (run.state, event) not in TRANSITIONS:
            raise Refused("run.illegal-transition")
        before, run.state = run.state, TRANSITIONS[run.state, event]
        self.audit.append((f"run.{event.value}", run_id, before.value, run.state.value, epoch))
        return run.state

    def intend(self, run_id: str, epoch: int, intent: str) -> None:
        self.fenced(run_id, epoch)
        if self.journal.setdefault(intent, (run_id, None))[0] != run_id:
            raise Refused("journal.conflict")

    def settle(self, intent: str, epoch: int, outcome: Outcome) -> None:
        if intent not in self.journal:
            raise Refused("journal.unknown")
        run_id, before = self.journal[intent]
        self.fenced(run_id, epoch)
        if before not in (None, Outcome.UNKNOWN, outcome):
            raise Refused("journal.conflict")
        self.journal[intent] = run_id, outcome


def as_modelled(record: AuditRecord) -> tuple[str, str | None, str | None, str | None, int | None]:
    return record.action, record.run_id, record.from_state, record.to_state, record.epoch
