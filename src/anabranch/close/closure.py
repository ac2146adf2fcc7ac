"""Ends a run: writes the closure record and removes staging. A closed run can be neither promoted nor rolled back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from anabranch.close.capacity import CapacityLooks, capacity_document
from anabranch.close.horizon import require_rollback_given_up, rollback_horizon
from anabranch.close.isolation import Certificate
from anabranch.crashpoints import reach
from anabranch.gates.acknowledgements import Acknowledgement, acknowledgements_of
from anabranch.gates.approval.approval import approvals_of
from anabranch.gates.approval.roles import rollback_overrides_of
from anabranch.gates.overrides import GateOverride, overrides_of
from anabranch.plan.plan import Plan, ranges_document
from anabranch.plan.target_range import TargetPart, WholeTable
from anabranch.project.atomic_write import atomic_write
from anabranch.replay.slice_ledger import SliceLedger, total
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State

STEPS = ("promote", "rollback", "validate")


class ClosingTarget(Protocol):
    def remove_refs(self, run: str) -> None:
        """Remove every branch and tag of the run in one commit. Idempotent."""


@dataclass(frozen=True)
class Closure:
    lease: RunLease
    plan: Plan
    target: ClosingTarget
    certify: Callable[[], Certificate]
    cost: Callable[[], Mapping[str, object]]
    """Actual and estimated cost. Called before staging is removed, whose files it measures."""
    keep: Callable[[Mapping[str, object]], None]
    """Writes the closure record atomically."""
    horizon: timedelta
    """How long after a promotion the contract guarantees a rollback."""
    now: datetime
    look_at_capacity: CapacityLooks
    """Called after staging is removed."""
    forfeit: str | None = None
    """The reason for closing a promoted run within the horizon."""

    def __call__(self) -> Mapping[str, object]:
        """Close the run and return the closure record. Called again after a crash, it completes the closing."""
        entry = self._begin()
        reach("close.before")
        self.lease.check_epoch()
        record = self._record(entry)
        self.keep(record)
        self.target.remove_refs(self.lease.run_id)
        record = {**record, "capacity": capacity_document(self.look_at_capacity())}
        self.keep(record)
        reach("close.after")
        self.lease.record_outcome(entry, Outcome.SUCCEEDED)
        self.lease.transition(Event.FINISH_CLOSING)
        return record

    def _begin(self) -> JournalEntry:
        """The intent of this closing, or the recorded one if an earlier process died while it was closing the run.

        Raises RollbackGuaranteedError within the rollback horizon unless the rollback is forfeited. The audit record
        of the transition names who forfeited it and why, so no run is closed without that record.
        """
        verdict = self.lease.run.state
        journal = self.lease.reader.journal(self.lease.run_id)
        if verdict is State.CLOSING:
            return [entry for entry in journal if entry.step == "close"][-1]
        horizon = rollback_horizon(verdict, journal, self.horizon)
        rollback = require_rollback_given_up(self.lease.run_id, horizon, self.now, forfeit=self.forfeit)
        if rollback is not None and rollback["forfeited"] is not None:
            rollback["forfeited"] = {
                "by": self.lease.actor,
                "at": self.now.isoformat(),
                "reason": rollback["forfeited"],
            }
        self.lease.abandon_intents("close", "closing was not begun")
        intent = f"{self.lease.run_id}-close-{self.lease.number('close')}"
        entry = self.lease.record_intent("close", {"verdict": verdict.value, "rollback": rollback}, intent=intent)
        self.lease.transition(Event.CLOSE, None if rollback is None else {"rollback": rollback})
        return entry

    def _record(self, closing: JournalEntry) -> dict[str, object]:
        run = self.lease.run
        journal = self.lease.reader.journal(run.id)
        return {
            "format": "anabranch/closure/v1",
            "run": run.id,
            "verdict": closing.details["verdict"],
            "pipeline": run.pipeline,
            "target": self.plan.target.table,
            "range": _range(self.plan.target.partitions),
            "author": run.author,
            "contract_hash": run.contract_hash,
            "plan_hash": run.plan_hash,
            "code": self.plan.code,
            "topic": {"name": self.plan.source.topic, "uuid": self.plan.source.uuid},
            "offsets": ranges_document(self.plan.source.ranges),
            "complete_by": {str(p): proof.value for p, proof in sorted(self.plan.source.proof.items())},
            "base": self.plan.target.base,
            "approvals": [each.document() for each in approvals_of(self.lease.reader, run)],
            "rollback": closing.details["rollback"],
            "rollback_overrides": rollback_overrides_of(self.lease.reader, run.id),
            "steps": [_step(entry) for entry in journal if entry.step in STEPS],
            "ledger": _totals(journal),
            "cost": self.cost(),
            "overrides": [each.document() for each in self._overrides()],
            "acknowledged_red": [each.document() for each in self._acknowledged()],
            "isolation": self.certify().document(),
            "audit": self.lease.reader.verify_audit().as_dict(),
        }

    def _acknowledged(self) -> Iterable[Acknowledgement]:
        """Red gates that were acknowledged so that the run could continue."""
        contract = self.lease.run.contract_hash
        return acknowledgements_of(self.lease.reader, run_id=self.lease.run_id, contract=contract).values()

    def _overrides(self) -> Iterable[GateOverride]:
        """Gates that a person overrode."""
        return overrides_of(self.lease.reader, run_id=self.lease.run_id, contract=self.lease.run.contract_hash).values()


def closed_once(closure: Closure, read: Callable[[], Mapping[str, object]]) -> Mapping[str, object]:
    """Close the run; of one that is closed, return the record that was written."""
    return read() if closure.lease.run.state is State.CLOSED else closure()


def _range(part: TargetPart) -> list[str] | None:
    """None for the whole table."""
    return None if isinstance(part, WholeTable) else [part.start.isoformat(), part.end.isoformat()]


def slice_ledgers(journal: Iterable[JournalEntry], steps: Collection[str] = ("slice",)) -> list[SliceLedger]:
    """The ledgers of all committed slices, from the journal, which is kept after staging is removed."""
    done = [entry for entry in journal if entry.step in steps and entry.outcome is Outcome.SUCCEEDED]
    return [SliceLedger.read((entry.outcome_details or {})["ledger"]) for entry in done]  # type: ignore[arg-type]


def _totals(journal: Iterable[JournalEntry]) -> dict[str, object]:
    ledgers = slice_ledgers(journal)
    bytes_read, account = total(ledgers)
    return {"slices": len(ledgers), "bytes": bytes_read, **account.document()}


def _step(entry: JournalEntry) -> dict[str, object]:
    return {
        "step": entry.step,
        "id": entry.id,
        "outcome": entry.outcome.value if entry.outcome else None,
        "at": entry.settled_at.isoformat() if entry.settled_at else None,
        "details": dict(entry.outcome_details or {}),
    }


def read_record(path: Path) -> Mapping[str, object]:
    record: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return record


def write_record(path: Path, record: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
