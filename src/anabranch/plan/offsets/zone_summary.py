"""A zone map in a few numbers: what it covers, from when to when, and how disordered the topic is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.plan.offsets.intervals import Intervals, common, union, width
from anabranch.plan.offsets.zone_spans import HOUR
from anabranch.plan.offsets.zones import Zone
from anabranch.plan.slices import Offsets
from anabranch.plan.target_range import EPOCH


@dataclass(frozen=True)
class Covered:
    """One partition of the topic as it is now, and what its zones say of it."""

    partition: int
    offsets: int
    """That are in the topic now."""
    counted: int
    """Of these, how many zones count."""
    zones: int
    records: int
    nulls: int
    first: int | None
    last: int | None
    """Event times (µs)."""
    late: int
    """Events an hour or more older than most of a block before theirs."""
    latest_by: int
    """The most that an event is older than that (µs); of a block, the oldest event counts."""

    def document(self) -> dict[str, Any]:
        return {
            "partition": self.partition,
            "offsets": self.offsets,
            "counted": self.counted,
            "zones": self.zones,
            "records": self.records,
            "without_event_time": self.nulls,
            "first_event": moment_text(self.first),
            "last_event": moment_text(self.last),
            "late_events": self.late,
            "latest_by_seconds": self.latest_by / 1_000_000,
        }


def summarise(offsets: Offsets, zones: Iterable[Zone]) -> tuple[Covered, ...]:
    """Of each partition that is there, or that has zones."""
    mine: dict[int, list[Zone]] = {}
    for zone in zones:
        mine.setdefault(zone.partition, []).append(zone)
    return tuple(
        _covered(partition, union([offsets.get(partition, (0, 0))]), mine.get(partition, []))
        for partition in sorted({*offsets, *mine})
    )


def _covered(partition: int, there: Intervals, zones: list[Zone]) -> Covered:
    spans = [span for zone in zones for span in zone.spans]
    late, latest_by = _lateness(zones)
    return Covered(
        partition,
        offsets=width(there),
        counted=width(common(there, union((zone.start, zone.end) for zone in zones))),
        zones=len(zones),
        records=sum(zone.count for zone in zones),
        nulls=sum(zone.nulls for zone in zones),
        first=min((span.low for span in spans), default=None),
        last=max((span.high for span in spans), default=None),
        late=late,
        latest_by=latest_by,
    )


def _lateness(zones: list[Zone]) -> tuple[int, int]:
    """Against the hour that most events of a block are of, so that one event from the far future counts for nothing."""
    late, latest_by, reached = 0, 0, None
    for zone in sorted(zones, key=lambda each: each.start):
        for span in zone.spans:
            if reached is not None:
                latest_by = max(latest_by, reached - span.low)
                late += span.count if span.high <= reached - HOUR else 0
        usual = max(zone.spans, key=lambda span: span.count, default=None)
        if usual is not None:
            reached = usual.high if reached is None else max(reached, usual.high)
    return late, latest_by


def moment_text(micros: int | None) -> str | None:
    """To the second; what no calendar shows is told as it is."""
    if micros is None:
        return None
    try:
        moment: datetime = EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros} µs"
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
