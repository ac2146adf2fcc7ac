"""How long each part of a backfill takes by what was rehearsed: the figures (test_window.py has what is told)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.properties import effort
from tests.unit.plan.rehearsal import measured

from anabranch.contract.backfill import Schedule
from anabranch.contract.pipeline import Live
from anabranch.plan.forecast.schedule import A_YEAR, Forecast, forecast
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import EPOCH, Grain, PartitionRange, TimeAxis, WholeTable, everything
from anabranch.runs.heads import Head

DAY = timedelta(days=1)
AXIS = TimeAxis("at", Grain.DAY)
NOW = EPOCH + 20_000 * DAY
OVER = PartitionRange(AXIS, 19_990, 19_992)
NOT_OVER = PartitionRange(AXIS, 19_990, 20_010)
SLICES = (Slice("s00000", {0: (0, 1000), 1: (0, 500)}), Slice("s00001", {0: (1000, 1500)}))
"""At a second for each and a millisecond for each record: four seconds, 500 records a second."""
PLAN = Plan(
    pipeline="orders",
    contract="c1",
    code="fixed",
    source=PlannedSource("shop.orders", "u1", 2, {0: ((0, 1500),), 1: ((0, 500),)}, {}),
    target=PlannedTarget("shop.orders", Head("7"), "schema", OVER, None, None, rows=500_000),
    slices=SLICES,
)


def of(part: PartitionRange | WholeTable, start: datetime | None = None) -> Plan:
    whole = isinstance(part, WholeTable)
    strategy = Strategy.MERGE_FORWARD if whole else Strategy.REPLACE_RANGE
    return replace(PLAN, strategy=strategy, target=replace(PLAN.target, partitions=part, requested_start=start))


def told(plan: Plan = PLAN, schedule: Schedule | None = None, rate: int | None = None, **changes: float) -> Forecast:
    return forecast(plan, measured(**changes), schedule, Live(), rate, NOW)


def schedule(**moments: datetime) -> Schedule:
    return Schedule.model_validate({name: each.isoformat() for name, each in moments.items()})


def test_the_parts_are_what_was_measured_times_what_there_is() -> None:
    found = told()
    assert found.replay == timedelta(seconds=4)
    assert found.validate == timedelta(seconds=10), "half a million rows"
    assert (found.promote, found.rollback, found.catch_up) == (timedelta(seconds=2), timedelta(seconds=3), timedelta())
    assert found.total == timedelta(seconds=16)
    assert found.begin == NOW
    assert found.finish == NOW + timedelta(seconds=16)


def test_a_control_replays_every_slice_once_more() -> None:
    assert told(replace(PLAN, control="former")).replay == 2 * told().replay


def test_a_rate_slows_down_what_it_slows_down() -> None:
    """Records of 100 bytes each; the first slice has 150,000 bytes, the second 50,000."""
    assert told(rate=10_000).replay == timedelta(seconds=15 + 5)
    assert told(rate=50_000).replay == timedelta(seconds=3 + 1.5), "the second takes longer by itself"
    assert told(rate=10**9).replay == told().replay


def test_so_much_faster_than_it_took_to_happen() -> None:
    assert told().multiple == pytest.approx(2 * DAY.total_seconds() / 4)
    half_over = told(of(NOT_OVER)).multiple
    assert half_over == pytest.approx(10 * DAY.total_seconds() / 4), "what is still to come has not taken any time"
    assert told(of(WholeTable(None), NOW - DAY)).multiple == pytest.approx(DAY.total_seconds() / 4)


@pytest.mark.parametrize("plan", [of(everything(AXIS)), of(WholeTable(None)), replace(PLAN, slices=())])
def test_of_a_range_without_two_ends_nobody_can_say_so(plan: Plan) -> None:
    assert told(plan).multiple is None


def test_headroom_is_how_much_faster_it_reads_than_records_come_in() -> None:
    assert told().headroom is None
    assert told(arrivals_per_second=50.0).headroom == pytest.approx(10)


def test_into_a_range_that_is_over_nothing_comes() -> None:
    assert told(arrivals_per_second=50.0).catch_up == timedelta()


@pytest.mark.parametrize("plan", [of(NOT_OVER), of(WholeTable(None), NOW - DAY)])
def test_what_comes_meanwhile_and_while_that_is_caught_up_with(plan: Plan) -> None:
    """In 14 seconds 700 records come; they take 1.4 s, in which 70 come, and so on."""
    found = told(plan, arrivals_per_second=50.0)
    assert found.catch_up.total_seconds() == pytest.approx(14 * 50 / 450)
    assert found.total == timedelta(seconds=16) + found.catch_up


@effort(50, 2_000)
@given(st.floats(0.1, 400), st.floats(1.01, 1.2))
def test_more_arrivals_never_take_less_time(arrivals: float, more: float) -> None:
    less, greater = (told(of(NOT_OVER), arrivals_per_second=each) for each in (arrivals, arrivals * more))
    assert less.catch_up <= greater.catch_up
    assert less.finish <= greater.finish


@pytest.mark.parametrize("arrivals", [500.0, 1e6])
def test_what_never_ends_is_told_as_a_year(arrivals: float) -> None:
    found = told(of(NOT_OVER), arrivals_per_second=arrivals)
    assert found.catch_up == A_YEAR
    assert "never-caught-up" in {each.code for each in found.cautions}


def test_it_begins_when_the_contract_lets_it_and_not_before_now() -> None:
    later = NOW + timedelta(hours=5)
    assert told(schedule=schedule(startAfter=later)).begin == later
    assert told(schedule=schedule(startAfter=NOW - DAY)).begin == NOW


def test_a_deadline_is_kept_to_the_second() -> None:
    at = NOW + timedelta(seconds=16)
    kept, missed = told(schedule=schedule(deadline=at)), told(schedule=schedule(deadline=at - timedelta(seconds=1)))
    assert (kept.in_time, missed.in_time) == (True, False)
    assert kept.on_miss == missed.on_miss == "pause"
    assert told(schedule=schedule(startAfter=NOW)).on_miss is None, "with no deadline there is nothing to miss"


def test_the_document_has_every_figure_as_a_plain_value() -> None:
    document = told(of(NOT_OVER), schedule(deadline=NOW + DAY), arrivals_per_second=50.0).document()
    assert document["replay_seconds"] == 4.0
    assert document["total_seconds"] == pytest.approx(16 + 14 * 50 / 450, abs=0.001)
    assert document["live_headroom"] == 10.0
    assert (document["in_time"], document["on_miss"]) == (True, "pause")
    assert told().document()["deadline"] is None
