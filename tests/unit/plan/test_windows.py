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
from tests.unit.plan.test_completeness import looked_up
from tests.unit.plan.world import JUNE, Log, Record, World, milliseconds

from anabranch.contract.event_window import EventWindow
from anabranch.plan.offsets.completeness import Proof, moments_of
from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.offsets.zone_spans import ZoneSpan
from anabranch.plan.offsets.zones import NO_MAP, PartitionZones, Zone, ZoneMap
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.planner import Planned, make_plan
from anabranch.plan.ports import LiveHistory, SourceFacts, TimestampBounds
from anabranch.plan.strategies.event_windows import (
    WindowsOpenError,
    events_needed,
    first_touched,
    require_closed,
    split,
)
from anabranch.plan.target_range import EPOCH, Grain, PartitionRange, TimeAxis, widen
from anabranch.promote.history import Author, BlockedByCommit, ClearToPromote, Commit, classify_range_commits
from anabranch.runs.heads import Head, Piece

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
    wanted = events_needed(declared, partitions)
    if any(partitions.start <= start < partitions.end for start in mine):
        assert wanted.start <= moment < wanted.end


def test_a_tumbling_window_of_an_hour_needs_no_event_beside_its_hour() -> None:
    partitions = widen(AXIS, JUNE, JUNE + 180 * MINUTE)
    found = events_needed(window(kind="tumbling", size="1h"), partitions)
    assert (found.start, found.end) == (partitions.start, partitions.end)


def test_a_session_needs_a_gap_before_and_its_longest_after() -> None:
    partitions = widen(AXIS, JUNE, JUNE + 60 * MINUTE)
    found = events_needed(window(kind="session", gap="20m"), partitions)
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


def planned(
    world: World, logs: Sequence[Log], watermark: datetime, size: int | None = None, zones: ZoneMap = NO_MAP
) -> Planned:
    request = world.request(pipe={"class": "windowed", "window": WINDOW})
    live = LiveHistory(
        {n: len(log.records) for n, log in enumerate(logs)}, 1, True, frozenset(), 0, milliseconds(watermark)
    )
    partitions = widen(TimeAxis("ordered_at", Grain.HOUR), request.start or JUNE, request.end or JUNE)
    target = world.target(request, live=live, partitions=partitions)

    def look(wanted: TimestampBounds) -> SourceFacts:
        facts = {number: log.facts(wanted) for number, log in enumerate(logs)}
        return SourceFacts("shop.orders", "u1", facts, None, None)

    span = events_needed(request.pipeline.spec.window, partitions)
    source = look(timestamp_bounds(span, request.slack, everything=False))
    return make_plan(request, "c1", source, target, now=NOW_, zones=zones, offsets_per_slice=size, measure=look)


NOW_ = JUNE + timedelta(days=30)
disordered = st.lists(st.tuples(st.integers(0, 4 * 1440), st.integers(-59, 59)), min_size=1, max_size=60)
very_late = st.lists(st.tuples(st.integers(0, 4 * 1440), st.integers(-4 * 1440, 59)), min_size=1, max_size=60)


def require_whole(plan: Plan, logs: Sequence[Log]) -> None:
    """Each offset of the plan is answered for once; each window is in one slice, which reads all of its events."""
    covered: Counter[tuple[int, int]] = Counter()
    window_runs = []
    assert isinstance(plan.target.partitions, PartitionRange)
    for slice_ in plan.slices:
        assert slice_.windows is not None
        for partition, (start, end) in slice_.offsets.items():
            assert any(since <= start < end <= until for since, until in slice_.needed[partition])
            covered.update((partition, offset) for offset in range(start, end))
        part = PartitionRange(plan.target.partitions.axis, *slice_.windows)
        window_runs += [slice_.windows] if part.first < part.after else []
        for partition, log in enumerate(logs):
            read = slice_.needed.get(partition, ())
            for offset, record in enumerate(log.records):
                assert record.event is not None
                starts = windows_of(record.event, 60 * MINUTE, 20 * MINUTE)
                if any(part.start <= start < part.end for start in starts):
                    assert any(since <= offset < until for since, until in read), "an event of its windows is not read"
    ranges = plan.source.ranges.items()
    assert covered == Counter({(p, at): 1 for p, each in ranges for start, end in each for at in range(start, end)})
    assert all(one[1] == other[0] for one, other in pairwise(window_runs))
    assert (window_runs[0][0], window_runs[-1][1]) == (plan.target.partitions.first, plan.target.partitions.after)
    assert read_plan(plan.document()) == plan


@given(st.lists(disordered, min_size=1, max_size=3), st.integers(1, 40))
def test_slices_have_each_offset_once_and_read_every_event_of_their_windows(
    world: World, drawn: list[list[tuple[int, int]]], size: int
) -> None:
    logs = [_log(records) for records in drawn]
    require_whole(planned(world, logs, JUNE + timedelta(days=9), size).plan, logs)


@given(st.lists(very_late, min_size=1, max_size=3), st.integers(1, 40), st.integers(1, 9), st.integers(1, 4))
def test_by_the_zone_map_slices_read_every_event_of_their_windows_however_late(
    world: World, drawn: list[list[tuple[int, int]]], size: int, block: int, holes: int
) -> None:
    logs = [_log(records) for records in drawn]
    span = events_needed(window(**WINDOW), widen(AXIS, JUNE, JUNE + timedelta(days=2)))
    known = {}
    for number, log in enumerate(logs):
        zones = [zone for at, zone in enumerate(_zones(number, log, block), start=1) if at % (holes + 1)]
        known[number] = looked_up(zones, moments_of(span)) or PartitionZones((), ())
    plan = planned(world, logs, JUNE + timedelta(days=9), size, ZoneMap(known)).plan
    assert set(plan.source.proof.values()) == {Proof.MAP}
    require_whole(plan, logs)


def _zones(partition: int, log: Log, block: int) -> list[Zone]:
    found = []
    for start in range(0, len(log.records), block):
        inside = log.records[start : start + block]
        moments = sorted((each.event - EPOCH) // timedelta(microseconds=1) for each in inside if each.event)
        spans = tuple(ZoneSpan(moment, moment, 1, start, start + len(inside)) for moment in moments)
        found.append(Zone(partition, start, start + len(inside), len(inside), 0, 0, spans, None, None))
    return found


def test_a_slice_reads_late_events_where_they_stand_and_not_all_that_is_between(world: World) -> None:
    days = [JUNE + n * MINUTE for n in range(0, 20 * 1440, 5)]
    records = [Record(milliseconds(moment), moment) for moment in days]
    records[-1] = Record(records[-1].timestamp, JUNE + 3 * MINUTE)
    log = Log([*records, *(Record(records[-1].timestamp, days[-1]) for _ in range(9000))])
    span = events_needed(window(**WINDOW), widen(AXIS, JUNE, JUNE + timedelta(days=2)))
    known = looked_up(_zones(0, log, 100), moments_of(span))
    assert known is not None
    plan = planned(world, [log], JUNE + timedelta(days=30), 300, ZoneMap({0: known})).plan
    require_whole(plan, [log])
    first, *others = plan.slices
    (start, end), late = first.needed[0]
    assert (start, late) == (0, (5700, 5800))
    assert end < 300
    assert all(late not in slice_.needed[0] for slice_ in others[:-1])
    assert isinstance(plan.target.partitions, PartitionRange)
    assert others[-1].offsets == {0: late}
    assert others[-1].windows == (plan.target.partitions.after, plan.target.partitions.after), "it computes none"


def _log(drawn: list[tuple[int, int]]) -> Log:
    """Recorded in order, the event's own time up to an hour off; one of the range is there in any case."""
    records = sorted([*drawn, (1440, 0)])
    moments = [(JUNE - timedelta(days=1) + at * MINUTE, off) for at, off in records]
    return Log([Record(milliseconds(moment), moment + off * MINUTE) for moment, off in moments])


def test_windows_that_live_has_not_closed_are_refused(world: World) -> None:
    logs = [_log([(1500, 0)])]
    with pytest.raises(WindowsOpenError, match="watermark reaches"):
        planned(world, logs, JUNE + timedelta(days=2))
    request = world.request(pipe={"class": "windowed", "window": WINDOW})
    silent = LiveHistory({0: 9}, 1, True, frozenset(), 0, watermark=None)
    with pytest.raises(WindowsOpenError, match="is not recorded by any commit"):
        require_closed(request, world.target(request, live=silent))


def test_a_live_commit_into_windows_of_the_range_blocks_and_is_never_kept() -> None:
    commit = Commit(Head("8"), Author.LIVE, code="c1", offsets={0: (5, 9)}, added=frozenset({Piece("f")}))
    given_ = {"run": "r", "code": "c1", "staged": (), "present": ("f",)}
    assert classify_range_commits([commit], **given_) == ClearToPromote(frozenset({"f"}))  # type: ignore[arg-type]
    assert classify_range_commits([commit], **given_, windows=True) == BlockedByCommit(commit)  # type: ignore[arg-type]
