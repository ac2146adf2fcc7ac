"""Which recorded rehearsal counts: the newest of this very contract, code, topic and rate, until it expires."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

from tests.unit.plan.rehearsal import MEASURED, measured
from tests.unit.plan.world import World, hourly

from anabranch.gates.binding import of_rehearsal
from anabranch.gates.evidence import Evidence
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.readiness.rehearsals import valid_rehearsal

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def test_the_newest_that_is_bound_to_the_backfill_counts(world: World) -> None:
    planned = world.plan([hourly(60)])
    plan, contract = planned.plan, planned.request.backfill
    bound = of_rehearsal(plan, contract)

    def recorded(found: Rehearsed, until: datetime = NOW + DAY, **about: Any) -> Evidence:
        details = {**found.document(), "about": {**bound.about, **about}}
        return Evidence("rehearsal", bound.subject, NOW - DAY, until, "ann", details)

    slow, fast = recorded(measured(records_per_second=1.0)), recorded(MEASURED)
    assert valid_rehearsal([], plan, contract, NOW) is None
    assert valid_rehearsal([slow, fast], plan, contract, NOW) == MEASURED
    assert valid_rehearsal([fast, recorded(measured(), code="other")], plan, contract, NOW) == MEASURED
    assert valid_rehearsal([replace(fast, subject="contract/other")], plan, contract, NOW) is None
    other_rate = recorded(measured(), bytes_per_second=5)
    assert valid_rehearsal([other_rate], plan, contract, NOW) is None
    expired = recorded(measured(), until=NOW)
    assert valid_rehearsal([slow, expired], plan, contract, NOW) is None, "the older one does not take its place"
