"""Whether a backfill fits its window, by what was rehearsed; and how much faster than real time it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.plan.rehearsal import measured
from tests.unit.plan.world import NOW, World, hourly

from anabranch.contract.pipeline import Live
from anabranch.plan.forecast.schedule import Forecast, forecast
from anabranch.project.quantities import format_moment


def told(world: World, live: Live | None = None, spec: dict[str, Any] | None = None, **changes: Any) -> Forecast:
    planned = world.plan([hourly(60)], **(spec or {}))
    request = planned.request.backfill.spec
    rate = None if request.budget is None else request.budget.bytes_per_second
    return forecast(planned.plan, measured(**changes), request.schedule, live or Live(), rate, NOW)


def codes(found: Forecast) -> set[str]:
    return {each.code for each in found.cautions}


def test_the_total_is_all_parts_but_the_way_back(world: World) -> None:
    found = told(world)
    assert found.total == found.replay + found.validate + found.promote + found.catch_up
    assert found.rollback == timedelta(seconds=3)
    assert found.finish == NOW + found.total
    assert found.in_time
    assert codes(found) == set()


def test_a_deadline_that_comes_too_early_is_told_with_what_follows(world: World) -> None:
    needed = told(world).total
    for spare, in_time in ((timedelta(seconds=1), True), (timedelta(seconds=-1), False)):
        schedule = {"deadline": format_moment(NOW + needed + spare), "onMiss": "scaleOut"}
        found = told(world, spec={"schedule": schedule})
        assert found.in_time is in_time
        assert ("deadline-missed" in codes(found)) is not in_time
        assert found.on_miss == "scaleOut"


def test_it_begins_when_the_window_opens(world: World) -> None:
    later = NOW + timedelta(hours=5)
    found = told(world, spec={"schedule": {"startAfter": format_moment(later)}})
    assert found.begin == later
    assert found.finish == later + found.total


def test_less_than_ten_times_real_time_is_a_warning(world: World) -> None:
    fast = told(world)
    assert fast.multiple is not None
    assert fast.multiple > 10
    slow = told(world, record_seconds=1000.0)
    assert slow.multiple is not None
    assert slow.multiple < 10
    assert "slow-replay" in codes(slow)
    assert "decode" in next(each.words for each in slow.cautions if each.code == "slow-replay")


def test_what_comes_meanwhile_is_caught_up_with_only_in_a_range_that_is_not_over(world: World) -> None:
    assert told(world, arrivals_per_second=1.0).catch_up == timedelta()
    on_and_on = {"range": {"eventTime": {"from": "2025-06-20T00:00:00Z", "to": "2025-08-01T00:00:00Z"}}}
    open_ended = told(world, spec=on_and_on, arrivals_per_second=1.0)
    assert open_ended.catch_up > timedelta()
    assert told(world, spec=on_and_on, arrivals_per_second=2.0).catch_up > open_ended.catch_up


def test_records_that_come_in_faster_than_they_are_replayed_are_never_caught_up_with(world: World) -> None:
    found = told(world, arrivals_per_second=1e6)
    assert found.headroom is not None
    assert found.headroom < 1
    assert "never-caught-up" in codes(found)


@pytest.mark.parametrize(
    ("limits", "code"),
    [({"maxLagRecords": 9}, "live-lag"), ({"maxLatency": "1s"}, "live-latency")],
)
def test_live_that_was_slowed_beyond_its_limits_is_told(world: World, limits: dict[str, Any], code: str) -> None:
    live = Live.model_validate(limits)
    assert codes(told(world, live)) == {code}
    assert codes(told(world, live, live_lag_with=None, live_latency_with=None)) == set()


def test_the_contracts_rate_makes_the_window_longer(world: World) -> None:
    spec = {"budget": {"bytesPerSecond": 100}}
    assert told(world, spec=spec).replay > told(world).replay
