"""Target ranges: half-open stretches of time, and when two of them touch the same rows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.properties import effort

from anabranch.runs.ranges import MAX_MICROSECONDS, MIN_MICROSECONDS, TargetRange

MIDNIGHT = datetime(2025, 6, 1, tzinfo=timezone.utc)
HOURS = st.none() | st.integers(0, 8).map(lambda hour: MIDNIGHT + timedelta(hours=hour))


@st.composite
def target_ranges(draw: st.DrawFn) -> TargetRange:
    start, end = draw(HOURS), draw(HOURS)
    if start and end and start >= end:
        start, end = end, start + timedelta(hours=1)
    return TargetRange(draw(st.sampled_from(["lake.a", "lake.b"])), start, end)


@effort(100, soak=5000)
@given(target_ranges(), target_ranges())
def test_two_ranges_overlap_when_some_instant_of_one_table_is_in_both(one: TargetRange, other: TargetRange) -> None:
    def covers(target: TargetRange, moment: datetime) -> bool:
        return (target.start is None or target.start <= moment) and (target.end is None or moment < target.end)

    instants = [MIDNIGHT + timedelta(minutes=30 * step) for step in range(-2, 20)]
    shared = one.table == other.table and any(covers(one, each) and covers(other, each) for each in instants)
    assert one.overlaps(other) is shared
    assert other.overlaps(one) is shared


@effort(100, soak=5000)
@given(target_ranges())
def test_numbers_give_the_same_range_back(target: TargetRange) -> None:
    assert TargetRange.between(target.table, target.starts, target.ends) == target


def test_any_datetime_lies_within_the_bounds() -> None:
    first, last = (each.replace(tzinfo=timezone.utc) for each in (datetime.min, datetime.max))
    target = TargetRange("lake.a", first, last)
    assert MIN_MICROSECONDS < target.starts < target.ends < MAX_MICROSECONDS


@pytest.mark.parametrize("end", [MIDNIGHT, MIDNIGHT - timedelta(hours=1)])
def test_an_empty_range_is_refused(end: datetime) -> None:
    with pytest.raises(ValueError, match="not after its start"):
        TargetRange("lake.a", MIDNIGHT, end)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        TargetRange("lake.a", datetime(2025, 6, 1))


@pytest.mark.parametrize("table", ["", "lake.\n"])
def test_a_target_needs_a_name(table: str) -> None:
    with pytest.raises(ValueError, match="full name"):
        TargetRange(table)


def test_words_for_people() -> None:
    assert str(TargetRange("lake.a")) == "all of lake.a"
    assert str(TargetRange("lake.a", MIDNIGHT)) == "lake.a from 2025-06-01T00:00:00+00:00 to the end"
