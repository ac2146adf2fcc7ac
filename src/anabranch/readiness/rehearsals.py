"""Which recorded rehearsal counts for a backfill. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from anabranch.contract.backfill import Backfill
from anabranch.gates.binding import of_rehearsal
from anabranch.gates.evidence import Evidence
from anabranch.plan.forecast.rehearsed import Rehearsed, read_rehearsed
from anabranch.plan.plan import Plan


def valid_rehearsal(recorded: Iterable[Evidence], plan: Plan, contract: Backfill, now: datetime) -> Rehearsed | None:
    """The newest of this contract, code, topic and byte rate, if it has not expired.

    `recorded` are rehearsals, oldest first. An older one never counts in place of an expired newer one.
    """
    bound = of_rehearsal(plan, contract)
    found = [each for each in recorded if bound.holds(each)]
    return read_rehearsed(found[-1].found) if found and found[-1].counts(now) else None
