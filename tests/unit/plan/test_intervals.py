"""Intervals with their gaps closed, against plain sets of offsets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.plan.offsets.intervals import Interval, bridged, union, width

intervals = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=9)


def test_the_smallest_gaps_are_closed_as_far_as_they_go() -> None:
    apart = ((0, 10), (13, 20), (21, 30), (40, 50))
    assert bridged(apart, 0) == apart
    assert bridged(apart, 3) == ((0, 10), (13, 30), (40, 50))
    assert bridged(apart, 4) == ((0, 30), (40, 50))
    assert bridged(apart, 14) == ((0, 50),)
    assert bridged((), 5) == ()


@given(intervals, st.integers(0, 60))
def test_nothing_is_lost_and_no_more_is_added_than_said(drawn: list[Interval], most: int) -> None:
    these = union(drawn)
    found = bridged(these, most)
    before, after = ({at for start, end in each for at in range(start, end)} for each in (these, found))
    assert before <= after
    assert len(after - before) <= most
    assert found == union(found)
    assert width(found) == len(after)
