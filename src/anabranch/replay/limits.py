"""Holds a run to its contract's window and budget: asked between slices and before a promotion, kept on record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.contract.backfill import Schedule
from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates.checks import cost as cost_gate
from anabranch.gates.overrides import overrides_of
from anabranch.plan.forecast.cost import Bill, alert_words
from anabranch.plan.forecast.deadline import Miss, missed, too_early
from anabranch.project.quantities import format_moment
from anabranch.replay.controls import ControlRequest, read_controls
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event

MISSED = "schedule.missed"
ALERT = "cost.alert"
STAGED = "Production unchanged. Staged slices are kept."


class WindowNotOpenError(AnabranchError):
    code = "schedule.not-open"
    exit_code = ExitCode.REFUSED


class DeadlineMissedError(AnabranchError):
    code = "schedule.deadline-missed"
    exit_code = ExitCode.GUARDED


class OverBudgetError(AnabranchError):
    code = "cost.over-budget"
    exit_code = ExitCode.GUARDED


@dataclass(frozen=True)
class Limits:
    """Limits of one run. `plan/forecast/deadline.py` and `plan/forecast/cost.py` decide; this enforces."""

    lease: RunLease
    window: Schedule | None
    budget: float | None
    bytes_per_second: int | None
    """The contract's rate."""
    spent: Callable[[], Bill]
    clock: Callable[[], datetime]

    def __call__(self) -> ReplayEnd | None:
        """How the replay has to end, if it has to. Over budget is an error, so that nobody takes it for a pause."""
        self._heed_budget()
        miss = missed(self.window, self.clock(), self._answered())
        return None if miss is None else self._carry_out(miss)

    def require_open(self) -> None:
        """Stop here if the window has not begun yet, or the next one of a run that was put off."""
        start = too_early(self.window, self.clock(), self._answered())
        if start is not None:
            raise WindowNotOpenError(
                f"The contract's schedule starts at {format_moment(start)}.",
                state=STAGED,
                command=f"anabranch retry {self.lease.run_id}",
                hint=f"run it after {format_moment(start)}",
                opens=format_moment(start),
            )

    def require_for_promotion(self) -> None:
        """What the contract chose for a miss, where the deadline passes between replay and promotion."""
        self.require_open()
        miss = missed(self.window, self.clock(), self._answered())
        if miss is None:
            return
        self._record(miss)
        if miss.choice == "scaleOut":
            return  # there is nothing left to make faster than the promotion itself
        if miss.choice == "rollback":
            self.lease.transition(Event.CANCEL, {"reason": "its deadline has passed", **miss.document()})
        raise DeadlineMissedError(
            f"The deadline {format_moment(miss.deadline)} has passed; the contract requires onMiss: {miss.choice}.",
            state=STAGED,
            **_next_command(miss, self.lease.run_id),
            choice=miss.choice,
        )

    def _carry_out(self, miss: Miss) -> ReplayEnd | None:
        why = {"reason": "its deadline has passed", **miss.document()}
        end: ReplayEnd | None = None
        match miss.choice:
            case "pause" | "retry":
                self.lease.transition(Event.PAUSE, why)
                end = ReplayEnd.PAUSED
            case "rollback":
                self.lease.transition(Event.CANCEL, why)
                end = ReplayEnd.CANCELLED
            case "scaleOut":
                self._lift_the_rate()
        self._record(miss)
        return end

    def _lift_the_rate(self) -> None:
        """The rate is what we hold the replay back by; with none it goes as fast as it can already."""
        records = self.lease.reader.audit(run_id=self.lease.run_id)
        if read_controls(records, self.bytes_per_second, self.clock()).bytes_per_second is not None:
            self._act(ControlRequest.THROTTLE.value, {"bytes_per_second": None})

    def _record(self, miss: Miss) -> None:
        self._act(MISSED, miss.document())

    def _answered(self) -> datetime | None:
        """When a miss was last put on record."""
        records = self.lease.reader.audit(run_id=self.lease.run_id, action=MISSED)
        return instant(records[-1].at) if records else None

    def _heed_budget(self) -> None:
        bill = self.spent()
        alerted = self.lease.reader.audit(run_id=self.lease.run_id, action=ALERT)
        for line, words in zip(bill.alerts, alert_words(bill.alerts, bill.currency), strict=True):
            if not any(f'"{line.meter}"' in record.details for record in alerted):
                self._act(ALERT, {"meter": line.meter, "amount": round(line.amount, 6), "what": words})
        if self.budget is None or bill.amount <= self.budget or self._is_overridden():
            return
        run = self.lease.run_id
        raise OverBudgetError(
            f"Run {run} has cost {bill.amount:,.4f} {bill.currency}; the budget is {self.budget:,.4f} {bill.currency}.",
            state=STAGED,
            hint=f"`anabranch cancel {run}`, or `anabranch gates override cost {run} --reason …`, then "
            f"`anabranch retry {run}`",
            spent=round(bill.amount, 6),
            budget=self.budget,
            currency=bill.currency,
        )

    def _is_overridden(self) -> bool:
        """Whether the cost gate is overridden by name."""
        run = self.lease.run
        return cost_gate.NAME in overrides_of(self.lease.reader, run_id=run.id, contract=run.contract_hash)

    def _act(self, action: str, details: dict[str, object]) -> None:
        self.lease.writer.record_act(action, actor=self.lease.actor, run_id=self.lease.run_id, details=details)


def stopped_by_deadline(records: Iterable[AuditRecord]) -> Mapping[str, Any] | None:
    """The details of the run's last stop if its deadline caused it, from its audit records, oldest first."""
    stops = [each for each in records if each.action in (f"run.{Event.PAUSE.value}", f"run.{Event.CANCEL.value}")]
    details: Mapping[str, Any] = json.loads(stops[-1].details) if stops else {}
    return details if "choice" in details else None


def _next_command(miss: Miss, run: str) -> dict[str, str]:
    if miss.choice == "rollback":
        return {"command": f"anabranch close {run}", "hint": "the run was cancelled"}
    command = f"anabranch promote {run}"
    if miss.next_slot is not None and miss.next_slot.start is not None:
        return {"command": command, "hint": f"run it after {format_moment(miss.next_slot.start)}"}
    return {"command": command, "hint": "run it again to promote after the deadline"}
