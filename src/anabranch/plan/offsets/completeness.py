"""Which offsets of a partition contain every event of the range: by its zones, else by timestamps.

An offset is excluded only if a zone covers it and has no event of the range, or if no zone covers it and the slack
excludes it. Zones are proof, whatever the lateness; the slack is a declaration of the pipeline.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from anabranch.plan.offsets.intervals import Interval, Intervals, bridged, common, union, width, without
from anabranch.plan.offsets.ranges import EndsBy, MissingOffsets, may_be_lost, offsets_by_slack
from anabranch.plan.offsets.zone_spans import CELL
from anabranch.plan.offsets.zones import BLOCK, PartitionZones, Zone, ZoneMap
from anabranch.plan.ports import PartitionFacts, SourceFacts, TimestampBounds
from anabranch.plan.target_range import EPOCH, FAR_AHEAD, EventSpan, TargetPart, WholeTable

FEW = 10
"""Offsets that no zone covers are all read, and need no slack, up to this fraction of what is read anyway."""
BRIDGED = 20
"""Gaps between ranges are read too, up to this fraction of what is read, or one cell: each range is a separate slice,
which costs more than reading a few records in vain."""


class Proof(str, Enum):
    """Why no event of the range is excluded."""

    MAP = "map"
    """Zones, however late an event is. Offsets that no zone covers are all read."""
    SLACK = "slack"
    """The topic's timestamps, and the slack that the pipeline declares."""
    BOTH = "both"
    """Zones; for offsets that no zone covers, the slack."""
    WHOLE = "whole"
    """Nothing is excluded."""


@dataclass(frozen=True)
class MicrosRange:
    """The range in microseconds since 1970: [start, end)."""

    start: int
    end: int


@dataclass(frozen=True)
class Reading:
    """What is read of one partition, and why that is complete."""

    ranges: Intervals
    by: EndsBy
    proof: Proof
    of_interest: int
    """Number of offsets from the first retained one to live's position."""
    uncounted: int
    """Of these, how many no zone covers."""
    records: int
    """Records read where zones cover the offsets, by average density."""
    in_range: int
    """Of these, how many may be in the range."""
    oldest: int | None
    """The oldest broker timestamp (ms) in these zones."""
    possible: bool
    """Whether the partition may contain an event of the range, also after live's position."""


def moments_of(part: TargetPart | EventSpan) -> MicrosRange:
    if isinstance(part, WholeTable):
        return MicrosRange(_micros(part.since or EPOCH), _micros(FAR_AHEAD))
    return MicrosRange(_micros(part.start), _micros(part.end))


def reading_of(
    facts: PartitionFacts,
    bounds: TimestampBounds,
    slack: timedelta,
    live: int | None,
    known: PartitionZones | None,
    moments: MicrosRange,
    *,
    whole: bool | None = None,
) -> Reading:
    """What to read of one partition. `live` is live's position at the base; None: unknown.

    `whole`: whether to read all offsets that no zone covers; None: if they are few.
    """
    by_slack = offsets_by_slack(facts, bounds, slack, live)
    interest = union([(facts.earliest, facts.latest if live is None else min(live, facts.latest))])
    touched, held, ruled_out = _match_zones(known, moments)
    needed = common(interest, held)
    uncounted = without(without(interest, ruled_out), needed)
    declared = common(uncounted, union([(by_slack.start, by_slack.end)]))
    if whole is None:
        whole = known is not None and width(uncounted) <= max(BLOCK, width(needed) // FEW)
    wanted = union((*needed, *(uncounted if whole else declared)))
    ranges = bridged(wanted, max(CELL, width(wanted) // BRIDGED))
    proof = _proof(bounds, counted=width(interest) > width(uncounted), proven=whole or not uncounted)
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
    bounds: TimestampBounds,
    slack: timedelta,
    live: Mapping[int, int],
    zones: ZoneMap,
    moments: MicrosRange,
) -> Iterator[MissingOffsets]:
    """Partitions that have lost records which may have been in the range.

    A partition that live has never read has no rows in the table, so nothing relevant was lost there.
    """
    for number, facts in sorted(source.partitions.items()):
        if facts.earliest == 0 or live.get(number) == 0:
            continue
        gone = ((0, facts.earliest),)
        touched, held, ruled_out = _match_zones(zones.partitions.get(number), moments)
        unknown = without(without(gone, ruled_out), held)
        lost = [
            span.high
            for zone in _overlapping(touched, common(held, gone))
            for span in zone.touched(moments.start, moments.end)
            if span.start < facts.earliest
        ]
        declared = bool(unknown) and may_be_lost(facts, bounds, slack)
        if declared or lost:
            yield MissingOffsets(
                number,
                facts.earliest,
                kept_from=None if facts.first is None else facts.first.timestamp,
                declared=declared,
                lost_until=min(max(lost), moments.end - 1) if lost else None,
            )


def _match_zones(known: PartitionZones | None, moments: MicrosRange) -> tuple[list[Zone], Intervals, Intervals]:
    """The zones that may contain an event of the range, the offsets where, and the offsets that some zone rules out.

    An offset that one zone rules out is excluded even if a less exact zone covers it too.
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
    """The number of records of these zones at these offsets, assuming an even distribution."""
    counted = union((zone.start, zone.end) for zone in zones)
    density = sum(zone.count for zone in zones) / max(1, width(counted))
    return round(density * width(common(counted, ranges)))


def _overlapping(zones: Iterable[Zone], offsets: Intervals) -> list[Zone]:
    """The zones that overlap these offsets; one of each set of duplicates."""
    starts, overlapping, counted = [start for start, _ in offsets], [], 0
    for zone in sorted(zones, key=lambda each: (each.start, -each.end)):
        at = bisect_left(starts, zone.end) - 1
        if at >= 0 and offsets[at][1] > zone.start and zone.end > counted:
            overlapping.append(zone)
            counted = zone.end
    return overlapping


def _proof(bounds: TimestampBounds, *, counted: bool, proven: bool) -> Proof:
    if bounds.start is None and bounds.end is None:
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
