"""Estimates for a plan at this moment: sizes, retention, warnings. Displayed beside the plan, never hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.plan.forecast.hours import end_of_work
from anabranch.plan.offsets.completeness import Proof, Reading
from anabranch.plan.offsets.intervals import width
from anabranch.plan.offsets.ranges import EndsBy
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.ports import PartitionFacts, SourceFacts, TargetFacts, TopicSettings
from anabranch.plan.request import BackfillRequest
from anabranch.plan.target_range import EPOCH, FAR_AHEAD, WholeTable
from anabranch.project.quantities import format_duration, format_moment

_FAR_AHEAD_MS = (FAR_AHEAD - EPOCH) // timedelta(milliseconds=1)
LEAST_HEADROOM = timedelta(hours=1)
HEADROOM_PER_DURATION = 4
"""Retention should leave several times the replay's duration, for pauses and retries."""


@dataclass(frozen=True)
class PlanWarning:
    """A condition that does not forbid the plan and should be known before the run."""

    code: str
    words: str


@dataclass(frozen=True)
class MapUse:
    """How much the zone map contributes to this plan."""

    of_interest: int
    """Offsets to choose from."""
    uncounted: int
    """Of these, how many no zone counts."""
    records: int
    """That are read where zones count, about."""
    in_range: int
    """Of these, how many may be in the range."""

    @property
    def covered(self) -> float:
        return 1 - self.uncounted / self.of_interest if self.of_interest else 0.0

    @property
    def amplification(self) -> float | None:
        """Records read for each one that may be in the range; None: no zone says."""
        return self.records / self.in_range if self.in_range else None

    def document(self) -> dict[str, Any]:
        return {
            "offsets_to_choose_from": self.of_interest,
            "offsets_no_zone_counts": self.uncounted,
            "records_in_zones_read": self.records,
            "records_that_may_be_in_range": self.in_range,
            "read_amplification": None if self.amplification is None else round(self.amplification, 3),
        }


@dataclass(frozen=True)
class Estimates:
    offsets: int
    """Upper bound of records; transactions and compaction leave fewer."""
    bytes: int | None
    """Estimated from the partitions' size on disk; None: the cluster did not report it."""
    duration: timedelta | None
    """Reading time at the contract's rate; None: the contract has no rate, or the size is unknown."""
    settings: TopicSettings | None
    transactional: bool | None
    headroom: timedelta | None
    """Time until retention may delete the first record of the range; None: never, or unknown."""
    ends: Mapping[int, EndsBy]
    map: MapUse
    cautions: tuple[PlanWarning, ...]

    def document(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "offsets": self.offsets,
            "bytes": self.bytes,
            "seconds_at_the_contracts_rate": None if self.duration is None else self.duration.total_seconds(),
            "headroom_seconds": None if self.headroom is None else self.headroom.total_seconds(),
            "topic": None
            if settings is None
            else {
                "cleanup": sorted(settings.cleanup),
                "retention_ms": settings.retention_ms,
                "retention_bytes": settings.retention_bytes,
                "timestamps": settings.timestamps,
            },
            "transactional": "seen" if self.transactional else "unknown",
            "ends_by": {str(number): by.value for number, by in sorted(self.ends.items())},
            "zone_map": self.map.document(),
            "cautions": [{"code": each.code, "words": each.words} for each in self.cautions],
        }


def estimate_plan(
    request: BackfillRequest,
    source: SourceFacts,
    target: TargetFacts,
    readings: Mapping[int, Reading],
    zones: ZoneMap,
    now: datetime,
) -> Estimates:
    used = {number: each for number, each in readings.items() if each.ranges}
    size = _bytes(source, used)
    rate = request.backfill.spec.byte_rate
    times = 1 if request.backfill.spec.control is None else 2  # a control reads the same offsets again
    duration = None if size is None or rate is None else timedelta(seconds=round(times * size / rate, 1))
    headroom = _headroom(source, used, now)
    cautions = (
        *_topic_warnings(request, source, used),
        *_map_warnings(request, readings, zones),
        *_retention_warnings(source, headroom, duration, now),
        *_range_warnings(request, target, now),
        *_schedule_warnings(request, duration, now),
    )
    return Estimates(
        offsets=sum(width(each.ranges) for each in used.values()),
        bytes=size,
        duration=duration,
        settings=source.settings,
        transactional=source.transactional,
        headroom=headroom,
        ends={number: each.by for number, each in used.items()},
        map=MapUse(
            of_interest=sum(each.of_interest for each in readings.values()),
            uncounted=sum(each.uncounted for each in readings.values()),
            records=sum(each.records for each in readings.values()),
            in_range=sum(each.in_range for each in readings.values()),
        ),
        cautions=cautions,
    )


def _bytes(source: SourceFacts, used: Mapping[int, Reading]) -> int | None:
    """Each partition's size by the share of its offsets that is read."""
    total = 0.0
    for number, each in used.items():
        facts = source.partitions[number]
        if facts.size is None:
            return None
        total += facts.size * width(each.ranges) / max(1, facts.high_watermark - facts.earliest)
    return round(total)


def _headroom(source: SourceFacts, used: Mapping[int, Reading], now: datetime) -> timedelta | None:
    """By the first record's own timestamp. Segments are deleted later, as a whole, so this is a lower bound."""
    settings = source.settings
    if settings is None or settings.retention_ms is None:
        return None
    firsts = [_first_in_range(source.partitions[number], each) for number, each in used.items()]
    times = [EPOCH + timedelta(milliseconds=first) for first in firsts if first is not None]
    return min(times) + timedelta(milliseconds=settings.retention_ms) - now if times else None


def _first_in_range(facts: PartitionFacts, reading: Reading) -> int | None:
    candidate = facts.at_start or facts.first
    by_time = None if candidate is None or reading.proof is Proof.MAP else candidate.timestamp
    # A producer may have written any number, so it is limited to 1970 through 9999.
    by_zones = None if reading.oldest is None else min(max(0, reading.oldest), _FAR_AHEAD_MS)
    return min((each for each in (by_zones, by_time) if each is not None), default=None)


def _topic_warnings(
    request: BackfillRequest, source: SourceFacts, used: Mapping[int, Reading]
) -> Iterator[PlanWarning]:
    if source.compacted and not request.strategy.whole_table:
        yield PlanWarning(
            "compacted",
            f"{source.topic} is compacted: events replaced by a later one of the same key are deleted, "
            "and the rows that live wrote from them will be missing",
        )
    if source.settings is None:
        yield PlanWarning(
            "settings-unknown",
            f"the settings of {source.topic} can't be read: compaction and retention are unknown",
        )
    doubtful = [number for number, each in used.items() if each.by is EndsBy.DOUBT]
    if doubtful:
        yield PlanWarning(
            "timestamps-out-of-order",
            f"timestamps of partition {', '.join(map(str, doubtful))} run backwards by more than the slack, are "
            "those of a transaction marker, or could not be read: the partition is read to its end",
        )
    held_back = sum(facts.high_watermark - facts.latest for facts in source.partitions.values())
    if held_back:
        yield PlanWarning(
            "open-transaction", f"an open transaction hides the last {held_back} offsets of {source.topic}"
        )


def _map_warnings(request: BackfillRequest, readings: Mapping[int, Reading], zones: ZoneMap) -> Iterator[PlanWarning]:
    build = f"`anabranch zones build {request.pipeline.metadata.name}`"
    partly = [number for number, each in sorted(readings.items()) if each.proof is Proof.BOTH]
    declared = [number for number, each in sorted(readings.items()) if each.proof is Proof.SLACK]
    if zones.other and declared:
        yield PlanWarning(
            "zone-map-of-another-reading",
            "the zone map belongs to a former topic of this name, or to other source.schema or eventTime settings, "
            f"and is not used: {build} builds it again",
        )
    elif partly or (zones.partitions and declared):
        yield PlanWarning(
            "zone-map-incomplete",
            f"the zone map does not cover all offsets of partition "
            f"{', '.join(map(str, sorted((*partly, *declared))))}: "
            f"there, offsets are excluded by the slack, which is declared and not proven; {build} completes the map",
        )


def _retention_warnings(
    source: SourceFacts, headroom: timedelta | None, duration: timedelta | None, now: datetime
) -> Iterator[PlanWarning]:
    enough = max(LEAST_HEADROOM, HEADROOM_PER_DURATION * (duration or timedelta()))
    if headroom is not None and headroom < enough:
        left = "at any time" if headroom <= timedelta() else f"from {format_moment(now + headroom)}"
        yield PlanWarning(
            "retention-near",
            f"retention may delete the first records of the range {left}: run it now, or raise retention.ms first",
        )
    if source.settings is not None and source.settings.retention_bytes is not None:
        yield PlanWarning(
            "retention-by-size",
            f"{source.topic} is also limited by size (retention.bytes): how long records are retained depends on "
            "traffic",
        )


def _range_warnings(request: BackfillRequest, target: TargetFacts, now: datetime) -> Iterator[PlanWarning]:
    partitions, field = target.partitions, request.pipeline.spec.event_time.field
    if isinstance(partitions, WholeTable):
        yield from _merge_warnings(request, target)
        return
    axis = partitions.axis
    if request.pipeline.spec.window is None and axis.column.lower() != field.lower():
        yield PlanWarning(
            "other-time-column",
            f"{target.table} is partitioned by {axis.column}, and event time is {field}: the transform must keep each "
            "row in the partition of its event, or the replay stops",
        )
    if not request.everything and partitions.end > now:
        yield PlanWarning(
            "range-not-over",
            f"the range ends in the future, at {format_moment(partitions.end)}: rows that live writes into it during "
            "the backfill are kept",
        )
    yield from _writer_warnings(request, target)


def _merge_warnings(request: BackfillRequest, target: TargetFacts) -> Iterator[PlanWarning]:
    """Warnings for a replay of the whole table from a former snapshot."""
    if request.end is not None:
        yield PlanWarning(
            "merged-to-live",
            f"events after {format_moment(request.end)} are replayed too, with the same code, up to live's position: "
            "a row is the last event of its key, at any time",
        )
    yield from _writer_warnings(request, target)


def _writer_warnings(request: BackfillRequest, target: TargetFacts) -> Iterator[PlanWarning]:
    if request.no_live_writer:
        yield PlanWarning(
            "no-live-writer",
            f"the contract says that no other writer commits to {target.table}: the topic is read to its end, and "
            f"promotion is refused if another writer commits after base snapshot {target.base}. A writer started after "
            "the promotion must begin at the end offsets of this plan, or it commits earlier records twice",
        )
    if target.live.foreign:
        yield PlanWarning(
            "foreign-commits",
            f"{target.live.foreign} commits of {target.table} are by an unknown writer: "
            "rows of the range that did not come from the topic will be removed",
        )


def _schedule_warnings(request: BackfillRequest, duration: timedelta | None, now: datetime) -> Iterator[PlanWarning]:
    schedule = request.backfill.spec.schedule
    if schedule is None or schedule.deadline is None or duration is None:
        return
    begin = max(now, schedule.start_after or now)
    if end_of_work(schedule.hours, begin, duration) > schedule.deadline:
        yield PlanWarning(
            "deadline-near",
            f"reading alone takes {format_duration(duration) or '0s'} at the contract's rate and ends after the "
            f"deadline {format_moment(schedule.deadline)}",
        )
