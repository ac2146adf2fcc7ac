"""Stops a replay when something that its plan pins has changed: topic, offsets still to be read, code, schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anabranch.plan.drift import Drift, InputObserver, check_drift, forbids, lost_of
from anabranch.plan.drift_errors import describe, require_no_drift
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Ranges, ranges_of
from anabranch.plan.steps import ControlSlice, SliceStep
from anabranch.replay.staging import StagingTarget, newest
from anabranch.runs.run_lease import RunLease


@dataclass(frozen=True)
class DriftGuard:
    plan: Plan
    inputs: InputObserver
    wanted: Ranges
    """All offsets that are to be read by the end."""
    unread: Callable[[], Ranges]
    """Of those, the offsets not in staging yet: others may expire. Called when some have expired."""
    notice: Callable[[Drift], None]
    """Given every drift, also those that don't forbid going on."""
    run: str | None = None

    def check(self) -> None:
        """Raise DriftError if a change forbids going on."""
        now = self.inputs.now()
        drifts = check_drift(self.plan, now, self.unread() if lost_of(self.wanted, now.earliest) else {})
        for drift in drifts:
            self.notice(drift)
        require_no_drift(self.plan, drifts, self.run)


def drift_guard(
    lease: RunLease, plan: Plan, target: StagingTarget, inputs: InputObserver, slices: Sequence[SliceStep]
) -> DriftGuard:
    """The guard of a replay of these slices. A drift that does not forbid going on is recorded once."""

    def unread() -> Ranges:
        staged = {
            name: staged_ids(target, plan, lease.run_id, control=name == ControlSlice.name)
            for name in {step.name for step in slices}
        }
        return ranges_of(step.slice for step in slices if step.slice.id not in staged[step.name])

    def record(drift: Drift) -> None:
        if not forbids(drift):
            _record_once(lease, "drift.noticed", describe(drift))

    return DriftGuard(plan, inputs, ranges_of(step.slice for step in slices), unread, record, lease.run_id)


def staged_ids(target: StagingTarget, plan: Plan, run_id: str, *, control: bool = False) -> set[str]:
    """The slices in the newest staging of the run, or of its control. Creates no staging."""
    found = newest(target.stagings(run_id, control=control))
    if found is None:
        return set()
    return {staged.slice_id for staged in target.staged_slices(found.name, plan.staging_base)}


def _record_once(lease: RunLease, action: str, words: str) -> None:
    records = lease.reader.audit(run_id=lease.run_id)
    if not any(record.action == action and words in record.details for record in records):
        lease.writer.record_act(action, actor=lease.actor, run_id=lease.run_id, details={"what": words})
