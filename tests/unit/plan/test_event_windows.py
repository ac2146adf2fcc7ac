"""Which events windows are made of: the corners (test_windows.py compares with brute force)."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plan.world import JUNE, World, milliseconds

from anabranch.contract.event_window import EventWindow
from anabranch.plan.ports import LiveHistory
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.strategies.event_windows import events_needed, first_touched, require_closed, split
from anabranch.plan.target_range import EPOCH, EventSpan, Grain, PartitionRange, TimeAxis, WholeTable, widen

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
AXIS = TimeAxis("window_start", Grain.HOUR)
SLIDING = {"kind": "sliding", "size": "1h", "slide": "20m", "lateness": "10m"}
SESSION = {"kind": "session", "gap": "20m", "longest": "2h", "lateness": "10m"}


def window(**said: str) -> EventWindow:
    return EventWindow.model_validate({"lateness": "10m", **said})


def hours(start: datetime, count: int = 1) -> PartitionRange:
    return widen(AXIS, start, start + count * HOUR)


def test_without_windows_the_events_are_those_of_the_partitions() -> None:
    part = hours(JUNE, 3)
    assert events_needed(None, part) == EventSpan(part.start, part.end)


def test_windows_that_begin_in_the_range_reach_beyond_its_end_by_what_is_left_of_the_last() -> None:
    found = events_needed(window(**SLIDING), hours(JUNE))
    assert (found.start, found.end) == (JUNE, JUNE + 100 * MINUTE), "the last begins at :40"


def test_a_step_that_does_not_fit_the_partition_begins_with_the_first_window_in_it() -> None:
    """Windows of 7 hours from 1970: that of the partition begins within it, or there is none to compute."""
    size = window(kind="tumbling", size="7h")
    starts = [JUNE + n * HOUR for n in range(14)]
    beginning = [each for each in starts if (each - EPOCH) % (7 * HOUR) == timedelta()]
    for each in starts:
        found = events_needed(size, hours(each))
        if each in beginning:
            assert (found.start, found.end) == (each, each + 7 * HOUR)
        else:
            assert found.start == found.end, "nothing to read"


def test_a_session_s_longest_decides_how_far_beyond_the_range_is_read() -> None:
    found = events_needed(window(**SESSION), hours(JUNE))
    assert (found.start, found.end) == (JUNE - 20 * MINUTE, JUNE + 3 * HOUR)


@pytest.mark.parametrize("said", [SESSION, {"kind": "session", "gap": "90m"}])
def test_nothing_is_read_from_before_1970(said: dict[str, str]) -> None:
    assert events_needed(window(**said), hours(EPOCH)).start == EPOCH
    assert first_touched(window(**said), EPOCH + MINUTE) == EPOCH


@given(st.integers(0, 10_000), st.integers(1, 600))
def test_a_session_s_first_window_is_at_most_its_longest_before(minute: int, longest: int) -> None:
    declared = window(kind="session", gap="1m", longest=f"{longest}m")
    moment = JUNE + minute * MINUTE
    assert first_touched(declared, moment) == moment - longest * MINUTE


def test_a_split_of_less_than_asked_for_has_one_part_for_each_partition() -> None:
    parts = split(PartitionRange(AXIS, 5, 8), 100)
    assert [(each.first, each.after) for each in parts] == [(5, 6), (6, 7), (7, 8)]
    assert split(PartitionRange(AXIS, 5, 8), 1) == [PartitionRange(AXIS, 5, 8)]


# Which windows are closed.


def closed(world: World, watermark: datetime | None, *, commits: int = 1, **spec: Any) -> EventSpan | str | None:
    request = world.request(pipe={"class": "windowed", "window": SLIDING}, **spec)
    mark = None if watermark is None else milliseconds(watermark)
    live = LiveHistory({0: 9}, commits, True, frozenset(), 0, watermark=mark)
    try:
        return require_closed(request, world.target(request, live=live))
    except PlanRefusedError as refused:
        return refused.code


END = JUNE + timedelta(days=2)
"""Of the world's range; the last window that begins before it ends 40 minutes later."""
SPAN = EventSpan(JUNE, END + 40 * MINUTE)


@pytest.mark.parametrize(
    ("watermark", "expected"),
    [
        (END + 40 * MINUTE, SPAN),
        (END + timedelta(days=9), SPAN),
        (END + 40 * MINUTE - timedelta(milliseconds=1), "plan.windows-open"),
        (END, "plan.windows-open"),
        (datetime(1970, 1, 1, tzinfo=timezone.utc), "plan.windows-open"),
        (None, "plan.windows-open"),
    ],
)
def test_every_window_of_the_range_must_be_written_for_good(
    world: World, watermark: datetime | None, expected: EventSpan | str
) -> None:
    assert closed(world, watermark) == expected


def test_where_live_never_committed_nobody_knows_where_it_stands(world: World) -> None:
    assert closed(world, None, commits=0) == "plan.live-position-unknown"


def test_without_a_live_writer_no_window_is_open(world: World) -> None:
    assert closed(world, None, commits=0, live="none") == SPAN


def test_a_pipeline_without_windows_or_a_whole_table_has_none_to_be_closed(world: World) -> None:
    plain = world.request()
    assert require_closed(plain, world.target(plain)) is None
    windowed = world.request(pipe={"class": "windowed", "window": SLIDING})
    assert require_closed(windowed, world.target(windowed, partitions=WholeTable(None))) is None
