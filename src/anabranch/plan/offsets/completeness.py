"""Which offsets of a partition hold every event of the range: by its zones where there are any, else by timestamps.

An offset is left out only if a zone counts it and has no event of the range, or if no zone counts it and the slack
leaves it out. What a zone says is proven, whatever the lateness; what the slack says is declared by the pipeline.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from anabranch.plan.offsets.event_span import EventSpan
from anabranch.plan.offsets.intervals import Interval, Intervals, bridged, common, union, width, without
from anabranch.plan.offsets.ranges import EndsBy, MissingOffsets, may_be_lost, reach
from anabranch.plan.offsets.zone_spans import CELL
from anabranch.plan.offsets.zones import BLOCK, PartitionZones, Zone, ZoneMap
from anabranch.plan.ports import PartitionFacts, SourceFacts, TimestampBounds
from anabranch.plan.target_range import EPOCH, FAR_AHEAD, TargetPart, WholeTable

FEW = 10
"""Offsets that no zone counts are read whole, and so need no slack, while they are this part of what is read anyway."""
BRIDGED = 20
"""What is between two ranges is read too while all of that is this part of what is read, or no more than a cell: a
range is a slice of its own, which costs more than reading a few records in vain."""


class Proof(str, Enum):
    """What it rests on that no event of the range is left out."""

    MAP = "map"
    """Zones, however late an event is. What no zone counts is read whole."""
    SLACK = "slack"
    """The topic's timestamps, and the slack that the pipeline declares."""
    BOTH = "both"
    """Zones; for offsets that no zone counts, the slack."""
    WHOLE = "whole"
    """Nothing is left out."""


@dataclass(frozen=True)
class Moments:
    """The range in microseconds since 1970: [start, end)."""

    start: int
    end: int


@dataclass(frozen=True)
class Reading:
    """What is read of one partition, and why that is enough."""

    ranges: Intervals
    by: EndsBy
    proof: Proof
    of_interest: int
    """Offsets from the first that is there to the last that live has written."""
    uncounted: int
    """Of these, how many no zone counts."""
    records: int
    """That are read where zones count, as many as there are at these offsets on the average."""
    in_range: int
    """Of these, how many may be in the range."""
    oldest: int | None
    """The oldest of the broker's timestamps (ms) in these zones."""
    possible: bool
    """Whether there may be an event of the range anywhere in the partition, also behind where live stands."""


def moments_of(part: TargetPart | EventSpan) -> Moments:
    if isinstance(part, WholeTable):
        return Moments(_micros(part.since or EPOCH), _micros(FAR_AHEAD))
    return Moments(_micros(part.start), _micros(part.end))


def reading_of(
    facts: PartitionFacts,
    asked: TimestampBounds,
    slack: timedelta,
    live: int | None,
    known: PartitionZones | None,
    moments: Moments,
    *,
    whole: bool | None = None,
) -> Reading:
    """What to read of one partition. `live` is where live stood at the base; None: not known.

    `whole` is whether to read all that no zone counts; None: while that is little.
    """
    by_slack = reach(facts, asked, slack, live)
    interest = union([(facts.earliest, facts.latest if live is None else min(live, facts.latest))])
    touched, held, ruled_out = _sorted_out(known, moments)
    needed = common(interest, held)
    uncounted = without(without(interest, ruled_out), needed)
    declared = common(uncounted, union([(by_slack.start, by_slack.end)]))
    if whole is None:
        whole = known is not None and width(uncounted) <= max(BLOCK, width(needed) // FEW)
    wanted = union((*needed, *(uncounted if whole else declared)))
    ranges = bridged(wanted, max(CELL, width(wanted) // BRIDGED))
    proof = _proof(asked, counted=width(interest) > width(uncounted), proven=whole or not uncounted)
    in_use = _overlapping(touched, needed)
    in_range = sum(span.count for zone in in_use for span in zone.touched(moments.start, moments.end))
    return Reading(
        ranges=ranges,
        by=_ends_by(ranges, by_slack.end, by_slack.by, facts, live, proof),
        proof=proof,
        of_interest=width(interest),
        uncounted=width(uncounted),
        records=max(in_range, _records(in_use, ranges)),
        in_range=in_range,
        oldest=min((zone.oldest for zone in in_use if zone.oldest is not None), default=None),
        possible=facts.latest > by_slack.start,
    )


def missing(
    source: SourceFacts,
    asked: TimestampBounds,
    slack: timedelta,
    live: Mapping[int, int],
    zones: ZoneMap,
    moments: Moments,
) -> Iterator[MissingOffsets]:
    """Partitions that have lost records of which nobody can say that they were outside the range.

    A partition that live has never read has no rows in the table, so nothing that counts was lost there.
    """
    for number, facts in sorted(source.partitions.items()):
        if facts.earliest == 0 or live.get(number) == 0:
            continue
        gone = ((0, facts.earliest),)
        touched, held, ruled_out = _sorted_out(zones.partitions.get(number), moments)
        unknown = without(without(gone, ruled_out), held)
        lost = [
            span.high
            for zone in _overlapping(touched, common(held, gone))
            for span in zone.touched(moments.start, moments.end)
            if span.start < facts.earliest
        ]
        declared = bool(unknown) and may_be_lost(facts, asked, slack)
        if declared or lost:
            yield MissingOffsets(
                number,
                facts.earliest,
                kept_from=None if facts.first is None else facts.first.timestamp,
                declared=declared,
                lost_until=min(max(lost), moments.end - 1) if lost else None,
            )


def _sorted_out(known: PartitionZones | None, moments: Moments) -> tuple[list[Zone], Intervals, Intervals]:
    """The zones that may hold an event of the range, the offsets where, and those at which some zone has none.

    What one zone rules out is ruled out, though another one that counts it too is less exact.
    """
    if known is None:
        return [], (), ()
    touched: list[Zone] = []
    held: list[Interval] = []
    ruled_out = list(known.elsewhere)
    for zone in known.zones:
        here = zone.held(moments.start, moments.end)
        held += here
        ruled_out += without([(zone.start, zone.end)], here)
        if here:
            touched.append(zone)
    nowhere = union(ruled_out)
    return touched, without(union(held), nowhere), nowhere


def _records(zones: list[Zone], ranges: Intervals) -> int:
    """How many records of these zones are at these offsets, if they are spread evenly."""
    counted = union((zone.start, zone.end) for zone in zones)
    density = sum(zone.count for zone in zones) / max(1, width(counted))
    return round(density * width(common(counted, ranges)))


def _overlapping(zones: Iterable[Zone], offsets: Intervals) -> list[Zone]:
    """The zones with any of these offsets; of zones that repeat each other, one."""
    starts, found, counted = [start for start, _ in offsets], [], 0
    for zone in sorted(zones, key=lambda each: (each.start, -each.end)):
        at = bisect_left(starts, zone.end) - 1
        if at >= 0 and offsets[at][1] > zone.start and zone.end > counted:
            found.append(zone)
            counted = zone.end
    return found


def _proof(asked: TimestampBounds, *, counted: bool, proven: bool) -> Proof:
    if asked.start is None and asked.end is None:
        return Proof.WHOLE
    if proven:
        return Proof.MAP if counted else Proof.WHOLE
    return Proof.BOTH if counted else Proof.SLACK


def _ends_by(
    ranges: Intervals, slack_end: int, slack_by: EndsBy, facts: PartitionFacts, live: int | None, proof: Proof
) -> EndsBy:
    end = ranges[-1][1] if ranges else None
    if proof in (Proof.SLACK, Proof.BOTH) and end in (slack_end, None):
        return slack_by
    if end is not None and end == live:
        return EndsBy.LIVE
    return EndsBy.LOG if end == facts.latest else EndsBy.MAP


def _micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)
