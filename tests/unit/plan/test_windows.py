"""Which events a range of windows needs, against brute force; and slices that have each offset of the plan once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.unit.plan.world import JUNE, NO_LIVE, Log, Record, World, milliseconds

from anabranch.contract.window import EventWindow
from anabranch.plan.axis import EPOCH, Grain, PartitionRange, TimeAxis, widen
from anabranch.plan.facts import LiveHistory, Lookups, SourceFacts
from anabranch.plan.plan import read_plan
from anabranch.plan.planner import Planned, make_plan
from anabranch.plan.windows import WindowsOpenError, first_touched, reading, split
from anabranch.promote.history import Author, Blocked, Clear, Commit, judge

MINUTE = timedelta(minutes=1)
AXIS = TimeAxis("window_start", Grain.HOUR)
WINDOW = {"kind": "sliding", "size": "1h", "slide": "20m", "lateness": "10m"}


def window(**said: str) -> EventWindow:
    return EventWindow.model_validate({"lateness": "10m", **said})


def windows_of(moment: datetime, size: timedelta, slide: timedelta) -> list[datetime]:
    """Starts of all windows that hold the moment, by looking at every one there might be."""
    first = EPOCH + (moment - size - EPOCH) // slide * slide
    starts = [first + n * slide for n in range(size // slide + 3)]
    return [start for start in starts if start <= moment < start + size]


@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 5000), st.integers(0, 48), st.integers(1, 30))
def test_fixed_windows_need_exactly_the_events_that_brute_force_finds(
    size: int, slide: int, minute: int, first: int, hours: int
) -> None:
    size, slide = max(size, slide), min(size, slide)
    declared = window(kind="sliding", size=f"{size}m", slide=f"{slide}m")
    partitions = widen(AXIS, JUNE + first * 60 * MINUTE, JUNE + (first + hours) * 60 * MINUTE)
    moment = JUNE + minute * MINUTE
    mine = windows_of(moment, size * MINUTE, slide * MINUTE)
    assert first_touched(declared, moment) == min(mine)
    wanted = reading(declared, partitions)
    if any(partitions.start <= start < partitions.end for start in mine):
        assert wanted.start <= moment < wanted.end


def test_a_tumbling_window_of_an_hour_needs_no_event_beside_its_hour() -> None:
    partitions = widen(AXIS, JUNE, JUNE + 180 * MINUTE)
    found = reading(window(kind="tumbling", size="1h"), partitions)
    assert (found.start, found.end) == (partitions.start, partitions.end)


def test_a_session_needs_a_gap_before_and_its_longest_after() -> None:
    partitions = widen(AXIS, JUNE, JUNE + 60 * MINUTE)
    found = reading(window(kind="session", gap="20m"), partitions)
    assert (found.start, found.end) == (JUNE - 20 * MINUTE, JUNE + (60 + 24 * 20) * MINUTE)


@pytest.mark.parametrize(
    "said",
    [
        {"kind": "tumbling"},
        {"kind": "tumbling", "size": "1h", "slide": "10m"},
        {"kind": "sliding", "size": "10m", "slide": "1h"},
        {"kind": "session", "size": "1h"},
        {"kind": "session", "gap": "1h", "longest": "10m"},
    ],
)
def test_a_window_that_makes_no_sense_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        window(**said)


@given(st.integers(0, 1000), st.integers(1, 100), st.integers(1, 20))
def test_split_is_the_range_once(first: int, total: int, count: int) -> None:
    parts = split(PartitionRange(AXIS, first, first + total), count)
    assert parts[0].first == first
    assert parts[-1].after == first + total
    assert all(one.after == other.first and one.first < one.after for one, other in pairwise(parts))


def planned(world: World, logs: Sequence[Log], watermark: datetime, size: int | None = None) -> Planned:
    asked = world.asked(pipe={"class": "windowed", "window": WINDOW})
    live = LiveHistory(
        {n: len(log.records) for n, log in enumerate(logs)}, 1, True, frozenset(), 0, milliseconds(watermark)
    )
    partitions = widen(TimeAxis("ordered_at", Grain.HOUR), asked.start or JUNE, asked.end or JUNE)
    target = world.target(asked, live=live, partitions=partitions)

    def look(wanted: Lookups) -> SourceFacts:
        facts = {number: log.facts(wanted) for number, log in enumerate(logs)}
        return SourceFacts("shop.orders", "u1", facts, None, None)

    everything = look(Lookups(0, None))
    return make_plan(asked, "c1", everything, target, now=NOW_, offsets_per_slice=size, look=look)


NOW_ = JUNE + timedelta(days=30)
disordered = st.lists(st.tuples(st.integers(0, 4 * 1440), st.integers(-59, 59)), min_size=1, max_size=60)


@given(st.lists(disordered, min_size=1, max_size=3), st.integers(1, 40))
def test_slices_have_each_offset_once_and_read_every_event_of_their_windows(
    world: World, drawn: list[list[tuple[int, int]]], size: int
) -> None:
    logs = [_log(records) for records in drawn]
    plan = planned(world, logs, JUNE + timedelta(days=9), size).plan
    covered: Counter[tuple[int, int]] = Counter()
    for piece in plan.slices:
        assert piece.windows is not None
        for partition, (start, end) in piece.offsets.items():
            since, until = piece.needed[partition]
            assert since <= start < end <= until
            covered.update((partition, offset) for offset in range(start, end))
        part = PartitionRange(plan.target.partitions.axis, *piece.windows)
        for partition, log in enumerate(logs):
            since, until = piece.needed.get(partition, (0, 0))
            for offset, record in enumerate(log.records):
                assert record.event is not None
                starts = windows_of(record.event, 60 * MINUTE, 20 * MINUTE)
                if any(part.start <= start < part.end for start in starts):
                    assert since <= offset < until, "an event of the slice's windows is not read"
    wanted = {(p, offset) for p, (start, end) in plan.source.ranges.items() for offset in range(start, end)}
    assert covered == Counter(wanted)
    numbers = [piece.windows for piece in plan.slices]
    assert numbers[0] is not None
    assert numbers[-1] is not None
    assert (numbers[0][0], numbers[-1][1]) == (plan.target.partitions.first, plan.target.partitions.after)
    assert read_plan(plan.document()) == plan


def _log(drawn: list[tuple[int, int]]) -> Log:
    """Recorded in order, the event's own time up to an hour off; one of the range is there in any case."""
    records = sorted([*drawn, (1440, 0)])
    moments = [(JUNE - timedelta(days=1) + at * MINUTE, off) for at, off in records]
    return Log([Record(milliseconds(moment), moment + off * MINUTE) for moment, off in moments])


def test_windows_that_live_has_not_closed_are_refused(world: World) -> None:
    logs = [_log([(1500, 0)])]
    with pytest.raises(WindowsOpenError, match="watermark reaches"):
        planned(world, logs, JUNE + timedelta(days=2))
    asked = world.asked(pipe={"class": "windowed", "window": WINDOW})
    with pytest.raises(WindowsOpenError, match="no commit of live"):
        make_plan(asked, "c1", SourceFacts("t", "u", {}, None, None), world.target(asked, live=NO_LIVE), now=NOW_)


def test_a_live_commit_into_windows_of_the_range_blocks_and_is_never_kept() -> None:
    commit = Commit(8, Author.LIVE, code="c1", offsets={0: (5, 9)}, added=frozenset({"f"}))
    given_ = {"run": "r", "code": "c1", "staged": (), "present": ("f",)}
    assert judge([commit], **given_) == Clear(frozenset({"f"}))  # type: ignore[arg-type]
    assert judge([commit], **given_, windows=True) == Blocked(commit)  # type: ignore[arg-type]
