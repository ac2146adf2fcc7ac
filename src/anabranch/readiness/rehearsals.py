"""Which recorded rehearsal counts for a backfill. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from anabranch.contract.backfill import Backfill
from anabranch.gates.binding import of_rehearsal
from anabranch.gates.evidence import ACTION, Evidence, read_evidence
from anabranch.plan.forecast.rehearsed import KIND, Rehearsed, read_rehearsed
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.plan.retention.rate import ReplayRate, planned_rate
from anabranch.runs.store import RunReader


def rate_of_planned(reader: RunReader | None, planned: Planned, now: datetime) -> ReplayRate | None:
    """The replay's rate by the last valid rehearsal, or the contract's. `reader` is None without a database."""
    plan, contract, size = planned.plan, planned.request.backfill, planned.estimates.bytes
    recorded = () if reader is None else map(read_evidence, reader.audit(action=f"{ACTION}{KIND}"))
    rehearsed = valid_rehearsal(recorded, plan, contract, now)
    budget = contract.spec.budget
    offsets = sum(each.width for each in plan.slices)
    per_offset = None if size is None or not offsets else size / offsets
    return planned_rate(plan, rehearsed, None if budget is None else budget.bytes_per_second, per_offset)


def valid_rehearsal(recorded: Iterable[Evidence], plan: Plan, contract: Backfill, now: datetime) -> Rehearsed | None:
    """The newest of this contract, code, topic and byte rate, if it has not expired.

    `recorded` are rehearsals, oldest first. An older one never counts in place of an expired newer one.
    """
    bound = of_rehearsal(plan, contract)
    found = [each for each in recorded if bound.holds(each)]
    return read_rehearsed(found[-1].found) if found and found[-1].counts(now) else None
