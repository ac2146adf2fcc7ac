"""Summary of a zone map: coverage, event times, and how far events are out of order. Pure."""

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
    """One partition of the topic, and the figures of its zones."""

    partition: int
    offsets: int
    """Retained in the topic now."""
    counted: int
    """Of these, how many are covered by zones."""
    zones: int
    records: int
    nulls: int
    first: int | None
    last: int | None
    """Event times (µs)."""
    late: int
    """Events an hour or more older than the main hour of an earlier block."""
    latest_by: int
    """Maximum lateness (µs), by the oldest event of each block."""

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
    """One entry for each partition that exists or has zones."""
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
    """Relative to the hour of most events of a block, so that a single event from the far future has no effect."""
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
    """Rounded to seconds; a time outside the calendar is given in µs."""
    if micros is None:
        return None
    try:
        moment: datetime = EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros} µs"
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
