"""How things look for a plan at this moment: sizes, retention, cautions. Shown beside the plan, never hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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
"""Retention should leave several times as long as the replay takes: it may have to be paused or retried."""


@dataclass(frozen=True)
class PlanWarning:
    """Something that does not forbid the plan and should be known before it runs."""

    code: str
    words: str


@dataclass(frozen=True)
class MapUse:
    """What the zone map was worth for this plan."""

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
    """At most so many records: with transactions or compaction there are fewer."""
    bytes: int | None
    """Estimated from the partitions' size on disk; None: the cluster did not say."""
    duration: timedelta | None
    """Of reading at the contract's rate; None: the contract has none, or the size is not known."""
    settings: TopicSettings | None
    transactional: bool | None
    headroom: timedelta | None
    """Until retention may reach the first record of the range; None: never, or not known."""
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
    budget = request.backfill.spec.budget
    rate = None if budget is None else budget.bytes_per_second
    times = 1 if request.backfill.spec.control is None else 2  # a control reads the same once more
    duration = None if size is None or rate is None else timedelta(seconds=round(times * size / rate, 1))
    headroom = _headroom(source, used, now)
    cautions = (
        *_of_the_topic(request, source, used),
        *_of_the_map(request, readings, zones),
        *_of_retention(source, headroom, duration, now),
        *_of_the_range(request, target, now),
        *_of_the_schedule(request, duration, now),
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
    """By the first record's own timestamp. Segments go as a whole and later, so this is never too hopeful."""
    settings = source.settings
    if settings is None or settings.retention_ms is None:
        return None
    firsts = [_first_in_range(source.partitions[number], each) for number, each in used.items()]
    times = [EPOCH + timedelta(milliseconds=first) for first in firsts if first is not None]
    return min(times) + timedelta(milliseconds=settings.retention_ms) - now if times else None


def _first_in_range(facts: PartitionFacts, reading: Reading) -> int | None:
    found = facts.at_start or facts.first
    by_time = None if found is None or reading.proof is Proof.MAP else found.timestamp
    # A producer may have written any number; no record is held to be older than 1970 or younger than the year 9999.
    by_zones = None if reading.oldest is None else min(max(0, reading.oldest), _FAR_AHEAD_MS)
    return min((each for each in (by_zones, by_time) if each is not None), default=None)


def _of_the_topic(request: BackfillRequest, source: SourceFacts, used: Mapping[int, Reading]) -> Iterator[PlanWarning]:
    if source.compacted and not request.strategy.whole_table:
        yield PlanWarning(
            "compacted",
            f"{source.topic} is compacted: events that a later one of the same key has replaced are gone, "
            "and rows that live once made of them will not come back",
        )
    if source.settings is None:
        yield PlanWarning(
            "settings-unknown",
            f"the cluster does not show the settings of {source.topic}: compaction and retention are not known",
        )
    doubtful = [number for number, each in used.items() if each.by is EndsBy.DOUBT]
    if doubtful:
        yield PlanWarning(
            "timestamps-out-of-order",
            f"timestamps of partition {', '.join(map(str, doubtful))} run backwards by more than the slack, carry the "
            "time of a transaction, or could not be read: it is read to its end, which takes longer and loses nothing",
        )
    held_back = sum(facts.high_watermark - facts.latest for facts in source.partitions.values())
    if held_back:
        yield PlanWarning(
            "open-transaction", f"an open transaction hides the last {held_back} offsets of {source.topic}"
        )


def _of_the_map(request: BackfillRequest, readings: Mapping[int, Reading], zones: ZoneMap) -> Iterator[PlanWarning]:
    build = f"`anabranch zones build {request.pipeline.metadata.name}`"
    partly = [number for number, each in sorted(readings.items()) if each.proof is Proof.BOTH]
    declared = [number for number, each in sorted(readings.items()) if each.proof is Proof.SLACK]
    if zones.other and declared:
        yield PlanWarning(
            "zone-map-of-another-reading",
            "the zone map was made of a former topic of this name, or by other source.schema or eventTime settings, "
            f"and is not used: {build} makes it anew",
        )
    elif partly or (zones.partitions and declared):
        yield PlanWarning(
            "zone-map-incomplete",
            f"zones don't count all offsets of partition {', '.join(map(str, sorted((*partly, *declared))))}: what is "
            f"left out there is left out by the slack, which is declared and not proven; {build} fills the map",
        )


def _of_retention(
    source: SourceFacts, headroom: timedelta | None, duration: timedelta | None, now: datetime
) -> Iterator[PlanWarning]:
    enough = max(LEAST_HEADROOM, HEADROOM_PER_DURATION * (duration or timedelta()))
    if headroom is not None and headroom < enough:
        left = "any moment now" if headroom <= timedelta() else f"from {format_moment(now + headroom)} on"
        yield PlanWarning(
            "retention-near",
            f"retention may delete the first records of the range {left}: run it now, or raise retention.ms first",
        )
    if source.settings is not None and source.settings.retention_bytes is not None:
        yield PlanWarning(
            "retention-by-size",
            f"{source.topic} is also limited by size (retention.bytes): how long its records stay depends on traffic",
        )


def _of_the_range(request: BackfillRequest, target: TargetFacts, now: datetime) -> Iterator[PlanWarning]:
    partitions, field = target.partitions, request.pipeline.spec.event_time.field
    if isinstance(partitions, WholeTable):
        yield from _of_merging(request, target)
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
            f"the range reaches to {format_moment(partitions.end)}, which is still to come: "
            "what live writes into it meanwhile is kept",
        )
    yield from _of_writers(request, target)


def _of_merging(request: BackfillRequest, target: TargetFacts) -> Iterator[PlanWarning]:
    """Of replaying the whole table from a state of it."""
    if request.end is not None:
        yield PlanWarning(
            "merged-to-live",
            f"what came after {format_moment(request.end)} is replayed too, by the same code, up to where live stands: "
            "a row is the last event of its key, whenever that was",
        )
    yield from _of_writers(request, target)


def _of_writers(request: BackfillRequest, target: TargetFacts) -> Iterator[PlanWarning]:
    if request.no_live_writer:
        yield PlanWarning(
            "no-live-writer",
            f"the contract says that nothing else writes to {target.table}: the topic is read to its end, and "
            f"promotion is refused if anything else commits after base snapshot {target.base}. A writer that starts "
            "after the promotion must begin at the end offsets of this plan: it would commit earlier records twice",
        )
    if target.live.foreign:
        yield PlanWarning(
            "foreign-commits",
            f"{target.live.foreign} commits of {target.table} don't say whose they are: "
            "rows of the range that did not come from the topic will be gone",
        )


def _of_the_schedule(request: BackfillRequest, duration: timedelta | None, now: datetime) -> Iterator[PlanWarning]:
    schedule = request.backfill.spec.schedule
    if schedule is None or schedule.deadline is None or duration is None:
        return
    begin = max(now, schedule.start_after or now)
    if begin + duration > schedule.deadline:
        yield PlanWarning(
            "deadline-near",
            f"reading alone takes {format_duration(duration) or '0s'} at the contract's rate, "
            f"and the deadline is {format_moment(schedule.deadline)}",
        )
