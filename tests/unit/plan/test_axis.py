"""The target's time axis: widening holds the range, and no less would."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fixtures.properties import examples

from anabranch.plan.target_range import EPOCH, FAR_AHEAD, Grain, TimeAxis, beginning, everything, ordinal, widen

MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(timezone.utc))


@given(st.sampled_from(Grain), MOMENTS, st.timedeltas(timedelta(microseconds=1), timedelta(days=900)))
@settings(max_examples=examples(200, 5_000), deadline=None)
def test_widening_is_the_smallest_run_of_whole_partitions(grain: Grain, start: datetime, length: timedelta) -> None:
    found = widen(TimeAxis("at", grain), start, start + length)
    assert found.start <= start < beginning(grain, found.first + 1)
    assert beginning(grain, found.after - 1) < start + length <= found.end


@given(st.sampled_from(Grain), MOMENTS)
@settings(max_examples=examples(200, 5_000), deadline=None)
def test_a_moment_lies_in_its_partition(grain: Grain, moment: datetime) -> None:
    number = ordinal(grain, moment)
    assert beginning(grain, number) <= moment < beginning(grain, number + 1)


@pytest.mark.parametrize("grain", Grain)
def test_everything_is_since_1970(grain: Grain) -> None:
    found = everything(TimeAxis("at", grain))
    assert (found.start, found.end) == (EPOCH, FAR_AHEAD)
