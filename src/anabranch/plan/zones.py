"""Zones: what is known of the event times in one block of offsets. Facts that never change; pure.

A record never changes, and retention and compaction only remove records: so what a zone says stays true as a bound
for ever, doubled and overlapping zones do no harm, and a lost one leaves a hole that is known to be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from anabranch.plan.intervals import Interval
from anabranch.plan.slices import Offsets

BLOCK = 4096
"""Offsets in a whole zone. A late event costs the reading of its block, so a block is kept small."""
HOUR = 3_600_000_000
"""In microseconds. No target is partitioned more finely, so that a span within an hour is in a range or is not."""
MOST_SPANS = 16
"""Of one zone. Beyond it the nearest spans become one, which widens what may be in the range and never narrows it."""


@dataclass(frozen=True, slots=True)
class Span:
    """So many events, none earlier than `low` or later than `high` (microseconds since 1970)."""

    low: int
    high: int
    count: int


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
    spans: tuple[Span, ...]
    """The event times of all others, in order. Several, so that one event that is days late does not make the whole
    block look like days."""
    oldest: int | None
    newest: int | None
    """The broker's timestamps (milliseconds), as far as they can be told."""

    def touches(self, start: int, end: int) -> bool:
        """Whether an event of [start, end) may be in it."""
        return any(span.low < end and span.high >= start for span in self.spans)

    def in_range(self, start: int, end: int) -> int:
        """How many events of [start, end) may be in it."""
        return sum(span.count for span in self.spans if span.low < end and span.high >= start)


@dataclass(frozen=True, slots=True)
class Group:
    """Records of one block that were counted together: those of one hour, or (`low` is None) of no usable time."""

    partition: int
    block: int
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
    """What the map says of one partition, looked up for one range of event time."""

    elsewhere: tuple[Interval, ...]
    """Offsets whose zones hold no event from the first moment of the range to the last."""
    zones: tuple[Zone, ...]
    """All other zones."""


@dataclass(frozen=True)
class ZoneMap:
    """The map of one topic by one reading of event time. A partition that is missing has no zones."""

    partitions: Mapping[int, PartitionZones]
    other: bool = False
    """Whether there are zones of another topic of that name, or of another reading of event time: of no use here."""


NO_MAP = ZoneMap({})


def zones_of(offsets: Offsets, groups: Iterable[Group]) -> tuple[Zone, ...]:
    """The zones of these offsets, all of which were read; stretches without a visible record included."""
    counted: dict[int, dict[int, list[Group]]] = {}
    for group in groups:
        counted.setdefault(group.partition, {}).setdefault(group.block, []).append(group)
    return tuple(
        zone
        for partition, (start, end) in sorted(offsets.items())
        for zone in _tiled(partition, start, end, counted.get(partition, {}))
    )


def combine(zones: Iterable[Zone]) -> tuple[Zone, ...]:
    """The same facts in fewer zones: neighbours of one block become one, and what repeats part of it is dropped.

    Of two that count the same offsets the one with fewer records stays: it was made after a compaction.
    """
    combined: list[Zone] = []
    for zone in sorted(zones, key=lambda each: (each.partition, each.start, -each.end, each.count)):
        last = combined[-1] if combined else None
        if last is None or last.partition != zone.partition or zone.start > last.end:
            combined.append(zone)
        elif zone.end <= last.end and _one_block(last):
            continue
        elif zone.start == last.end and (_empty(last, zone) or last.start // BLOCK == (zone.end - 1) // BLOCK):
            combined[-1] = _joined(last, zone)
        else:
            combined.append(zone)
    return tuple(combined)


def _one_block(zone: Zone) -> bool:
    return zone.start // BLOCK == (zone.end - 1) // BLOCK


def _empty(*zones: Zone) -> bool:
    return all(zone.count == 0 for zone in zones)


def _tiled(partition: int, start: int, end: int, blocks: Mapping[int, list[Group]]) -> Iterator[Zone]:
    reached = start
    for block, groups in sorted(blocks.items()):
        first, last = max(start, block * BLOCK), min(end, (block + 1) * BLOCK)
        if reached < first:
            yield Zone(partition, reached, first, 0, 0, 0, (), None, None)
        yield _zone(partition, first, last, groups)
        reached = last
    if reached < end:
        yield Zone(partition, reached, end, 0, 0, 0, (), None, None)


def _zone(partition: int, start: int, end: int, groups: list[Group]) -> Zone:
    return Zone(
        partition,
        start,
        end,
        count=sum(each.count for each in groups),
        bytes=sum(each.bytes for each in groups),
        nulls=sum(each.count for each in groups if each.low is None or each.high is None),
        spans=_spans(
            Span(each.low, each.high, each.count) for each in groups if each.low is not None and each.high is not None
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
        _spans((*one.spans, *other.spans)),
        min((each for each in (one.oldest, other.oldest) if each is not None), default=None),
        max((each for each in (one.newest, other.newest) if each is not None), default=None),
    )


def _spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Those of one hour as one, and the nearest ones together while there are too many."""
    ordered = sorted(spans, key=lambda span: span.low)
    joined = [_covering(tuple(same)) for _, same in groupby(ordered, key=lambda span: span.low // HOUR)]
    while len(joined) > MOST_SPANS:
        near = min(range(1, len(joined)), key=lambda at: joined[at].low - joined[at - 1].high)
        joined[near - 1 : near + 1] = [_covering(tuple(joined[near - 1 : near + 1]))]
    return tuple(joined)


def _covering(spans: tuple[Span, ...]) -> Span:
    return Span(spans[0].low, max(span.high for span in spans), sum(span.count for span in spans))
