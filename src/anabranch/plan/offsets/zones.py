"""Zones: the event times in an interval of offsets. Immutable facts; pure.

A record never changes, and retention and compaction only remove records. So a zone stays valid as a bound for ever,
duplicate and overlapping zones are harmless, and a lost zone leaves offsets that are known to be uncovered.

A zone ends with its block of offsets, or earlier where events move to later hours. So a partition has at most one zone
per block and one more for some hours, whatever the order of its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from anabranch.plan.offsets.intervals import Interval, Intervals, union, width
from anabranch.plan.offsets.zone_spans import CELL, MOST_SPANS, ZoneSpan, area, gathered
from anabranch.plan.slices import Offsets

BLOCK = 4096
"""Maximum number of offsets of a zone, unless it has no record."""


@dataclass(frozen=True, slots=True)
class Zone:
    """Every visible record of [start, end) of a partition is counted here."""

    partition: int
    start: int
    end: int
    count: int
    bytes: int
    nulls: int
    """Records with no usable event time: tombstones, and what can't be decoded. They give no row in any range."""
    spans: tuple[ZoneSpan, ...]
    """The event times of all others, in order. Several, so that one event that is days late does not widen the span
    of the whole block."""
    oldest: int | None
    newest: int | None
    """The broker's timestamps (milliseconds), where known."""

    def touched(self, start: int, end: int) -> tuple[ZoneSpan, ...]:
        """The spans that may contain events of [start, end), in µs."""
        return tuple(span for span in self.spans if span.touches(start, end))

    def held(self, start: int, end: int) -> Intervals:
        """The offsets that may contain an event of [start, end)."""
        return union((span.start, span.end) for span in self.touched(start, end))


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Records of one cell that were counted together: those of one hour, or (`low` is None) of no usable time."""

    partition: int
    first: int
    last: int
    """Their offsets."""
    count: int
    bad: int
    """Of these, how many can't be decoded."""
    bytes: int
    low: int | None
    high: int | None
    oldest: int | None
    newest: int | None


@dataclass(frozen=True)
class PartitionZones:
    """The map of one partition, looked up for one range of event time."""

    elsewhere: tuple[Interval, ...]
    """Offsets whose zones hold no event from the first moment of the range to the last."""
    zones: tuple[Zone, ...]
    """All other zones."""


@dataclass(frozen=True)
class ZoneMap:
    """The map of one topic for one decoding of event time. A missing partition has no zones."""

    partitions: Mapping[int, PartitionZones]
    other: bool = False
    """Whether zones exist for a former topic of the same name or another decoding of event time; they are not used."""


NO_MAP = ZoneMap({})


def zones_of(offsets: Offsets, groups: Iterable[EventGroup]) -> tuple[Zone, ...]:
    """The zones of these offsets, all of which were read, including intervals without a visible record."""
    counted: dict[int, dict[int, list[EventGroup]]] = {}
    for group in groups:
        counted.setdefault(group.partition, {}).setdefault(group.first // CELL, []).append(group)
    return combine(
        zone
        for partition, (start, end) in sorted(offsets.items())
        for zone in _tiled(partition, start, end, counted.get(partition, {}))
    )


def combine(zones: Iterable[Zone]) -> tuple[Zone, ...]:
    """The same facts in fewer zones: neighbours are merged and duplicates dropped."""
    combined: list[Zone] = []
    ordered = sorted(zones, key=lambda each: (each.partition, each.start, -each.end, each.count, _cost(each)))
    for zone in _unrepeated(ordered):
        joined = _as_one(combined[-1], zone) if combined else None
        if joined is None:
            combined.append(zone)
        else:
            combined[-1] = joined
    return tuple(combined)


def _unrepeated(zones: Sequence[Zone]) -> Iterator[Zone]:
    """Of zones that count the same offsets those with fewer records, which were made after a compaction; else the
    smaller ones, which are more exact."""
    passed: set[int] = set()
    for at, zone in enumerate(zones):
        if at in passed:
            continue
        inside = [each for each in _inside(zones, at) if each not in passed] if _one_block(zone) else []
        passed.update(inside)
        parts = tuple(_unrepeated([zones[each] for each in inside]))
        yield from parts if len(parts) > 1 and _replace(parts, zone) else (zone,)


def _inside(zones: Sequence[Zone], at: int) -> Iterator[int]:
    """The zones after this one that count nothing but what it counts."""
    zone = zones[at]
    for later in range(at + 1, len(zones)):
        if zones[later].partition != zone.partition or zones[later].start >= zone.end:
            return
        if zones[later].end <= zone.end:
            yield later


def _replace(parts: Sequence[Zone], whole: Zone) -> bool:
    """Whether the parts count all that the whole one counts, once, and no more records."""
    offsets = [(part.start, part.end) for part in parts]
    tiled = union(offsets) == ((whole.start, whole.end),) and width(offsets) == whole.end - whole.start
    return tiled and sum(part.count for part in parts) <= whole.count


def _as_one(one: Zone, other: Zone) -> Zone | None:
    """Two neighbours as one zone; None: they are none, or stay two."""
    if one.partition != other.partition or one.end != other.start:
        return None
    if one.count == 0 and other.count == 0:
        return _joined(one, other)
    if one.start // BLOCK != (other.end - 1) // BLOCK:
        return None
    joined = _joined(one, other)
    return None if _moved_on(one, other) and _many(joined) else joined


def _many(zone: Zone) -> bool:
    """Whether it is wide enough, and has spans enough, to be better off as two. Half of the spans are left for events
    that come late: where they get too many, hours become one."""
    return len(zone.spans) > MOST_SPANS // 2 and zone.end - zone.start > CELL


def _moved_on(one: Zone, other: Zone) -> bool:
    """Whether most events of the other one are of later hours than most of the first. Disorder is not: were zones cut
    by it, a topic out of order would have a zone for a few records each, and none would rule out anything."""
    first, then = _quartile(one, 3), _quartile(other, 1)
    return first is not None and then is not None and first.high < then.low


def _quartile(zone: Zone, number: int) -> ZoneSpan | None:
    events, passed = sum(span.count for span in zone.spans), 0
    for span in zone.spans:
        passed += span.count
        if 4 * passed >= number * events:
            return span
    return None


def _cost(zone: Zone) -> int:
    return sum(area(span) for span in zone.spans)


def _one_block(zone: Zone) -> bool:
    return zone.start // BLOCK == (zone.end - 1) // BLOCK


def _tiled(partition: int, start: int, end: int, cells: Mapping[int, list[EventGroup]]) -> Iterator[Zone]:
    """A zone for each block with a record, and others where there is none. Where a block has many hours, the cells that
    it may have to be made of."""
    reached = start
    for block, same in groupby(sorted(cells), key=lambda cell: cell * CELL // BLOCK):
        filled = list(same)
        first, after = max(start, block * BLOCK), min(end, (block + 1) * BLOCK)
        if reached < first:
            yield Zone(partition, reached, first, 0, 0, 0, (), None, None)
        whole = _zone(partition, first, after, [group for cell in filled for group in cells[cell]])
        if _many(whole):
            edges = [first, *(cell * CELL for cell in filled[1:]), after]
            for cell, stretch in zip(filled, pairwise(edges), strict=True):
                yield _zone(partition, *stretch, cells[cell])
        else:
            yield whole
        reached = after
    if reached < end:
        yield Zone(partition, reached, end, 0, 0, 0, (), None, None)


def _zone(partition: int, start: int, end: int, groups: list[EventGroup]) -> Zone:
    return Zone(
        partition,
        start,
        end,
        count=sum(each.count for each in groups),
        bytes=sum(each.bytes for each in groups),
        nulls=sum(each.count for each in groups if each.low is None or each.high is None),
        spans=gathered(
            ZoneSpan(each.low, each.high, each.count, each.first, each.last + 1)
            for each in groups
            if each.low is not None and each.high is not None
        ),
        oldest=min((each.oldest for each in groups if each.oldest is not None), default=None),
        newest=max((each.newest for each in groups if each.newest is not None), default=None),
    )


def _joined(one: Zone, other: Zone) -> Zone:
    return Zone(
        one.partition,
        one.start,
        other.end,
        one.count + other.count,
        one.bytes + other.bytes,
        one.nulls + other.nulls,
        gathered((*one.spans, *other.spans)),
        min((each for each in (one.oldest, other.oldest) if each is not None), default=None),
        max((each for each in (one.newest, other.newest) if each is not None), default=None),
    )
