"""Measures a topic for planning: identity, offsets, settings and timestamps. Joins no group and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import partition_sizes
from anabranch.adapters.kafka.sample import Records, read_records
from anabranch.adapters.kafka.topics import Topic, describe_topic, list_offsets, topic_settings
from anabranch.plan.ports import OffsetAtTime, PartitionFacts, SourceFacts, TimestampBounds, TopicSettings

if TYPE_CHECKING:
    from confluent_kafka.admin import OffsetSpec

CLIENT_ID = "anabranch-plan"
PROBES = 4
"""Number of samples per partition, evenly spread from its planned end to its last record."""


@dataclass(frozen=True)
class KafkaSource:
    """`Source` port on a Kafka cluster."""

    access: KafkaAccess

    def measure(self, topic: str, lookups: TimestampBounds) -> SourceFacts:
        found = describe_topic(self._client, topic)
        places = self._places(found, lookups)
        settings = _settings(topic_settings(self._client, topic))
        samples = [places.begins(), *(places.from_end_on(number) for number in range(PROBES))]
        at_begin, *after_end = read_records(self.access, CLIENT_ID, topic, samples)
        sizes = partition_sizes(self.access, CLIENT_ID, topic, found.partitions)
        return SourceFacts(
            topic=topic,
            uuid=found.uuid,
            partitions={p: places.facts(p, after_end, sizes.get(p)) for p in found.partitions},
            settings=settings,
            transactional=True
            if places.has_open_transaction or _markers_seen([at_begin, *after_end], settings)
            else None,
        )

    @property
    def _client(self) -> dict[str, str]:
        return self.access.client(CLIENT_ID)

    def _places(self, topic: Topic, lookups: TimestampBounds) -> _TimestampOffsets:
        from confluent_kafka.admin import OffsetSpec

        def where(spec: OffsetSpec, *, committed: bool = True) -> dict[int, int]:
            return {
                p: place.offset for p, place in list_offsets(self._client, topic, spec, committed=committed).items()
            }

        def at(timestamp: int | None) -> dict[int, OffsetAtTime]:
            if timestamp is None:
                return {}
            at_time = list_offsets(self._client, topic, OffsetSpec.for_timestamp(timestamp))
            return {p: OffsetAtTime(place.offset, place.timestamp) for p, place in at_time.items() if place.offset >= 0}

        return _TimestampOffsets(
            earliest=where(OffsetSpec.earliest()),
            latest=where(OffsetSpec.latest()),
            watermark=where(OffsetSpec.latest(), committed=False),
            first=at(0),
            at_start=at(lookups.start),
            at_end=at(lookups.end),
        )


@dataclass(frozen=True)
class _TimestampOffsets:
    """Offsets of a topic by partition."""

    earliest: Mapping[int, int]
    latest: Mapping[int, int]
    watermark: Mapping[int, int]
    first: Mapping[int, OffsetAtTime]
    at_start: Mapping[int, OffsetAtTime]
    at_end: Mapping[int, OffsetAtTime]

    @property
    def has_open_transaction(self) -> bool:
        """Whether the high watermark is beyond the last stable offset of a partition."""
        return any(self.watermark[p] > latest for p, latest in self.latest.items())

    def begins(self) -> dict[int, tuple[int, int]]:
        """From the first record to be replayed to the end, for partitions that have any."""
        places = {**self.first, **self.at_start}
        return {p: (place.offset, self.latest[p]) for p, place in places.items() if place.offset < self.latest[p]}

    def from_end_on(self, probe: int) -> dict[int, tuple[int, int]]:
        """From the planned end, or sample `probe` after it, to the last record; for partitions with records after
        it."""
        return {
            p: (place.offset + (self.latest[p] - place.offset) * probe // PROBES, self.latest[p])
            for p, place in self.at_end.items()
            if place.offset < self.latest[p]
        }

    def facts(self, partition: int, after_end: Iterable[Records], size: int | None) -> PartitionFacts:
        read = [records.get(partition) for records in after_end]
        # One unread sample leaves the end unproven: it might have shown an event before it.
        samples_after_end = (
            None if None in read else tuple(sorted({f for each in read for f in each or ()}, key=_offset))
        )
        return PartitionFacts(
            earliest=self.earliest[partition],
            latest=self.latest[partition],
            high_watermark=self.watermark[partition],
            first=self.first.get(partition),
            at_start=self.at_start.get(partition),
            at_end=self.at_end.get(partition),
            after_end=samples_after_end,
            size=size,
        )


def _offset(place: OffsetAtTime) -> int:
    return place.offset


def _settings(settings: Mapping[str, str] | None) -> TopicSettings | None:
    if settings is None:
        return None
    cleanup = frozenset(policy.strip() for policy in settings["cleanup.policy"].split(",") if policy.strip())
    deletes = "delete" in cleanup
    return TopicSettings(
        cleanup=cleanup,
        retention_ms=_limit(settings["retention.ms"]) if deletes else None,
        retention_bytes=_limit(settings["retention.bytes"]) if deletes else None,
        timestamps=settings["message.timestamp.type"],
    )


def _limit(text: str) -> int | None:
    return None if int(text) < 0 else int(text)


def _markers_seen(samples: Iterable[Records], settings: TopicSettings | None) -> bool:
    """Whether consecutive records skip an offset, which in a log that is not compacted is a transaction marker."""
    if settings is None or "compact" in settings.cleanup:
        return False
    runs = (records for sample in samples for records in sample.values())
    return any(after.offset > before.offset + 1 for run in runs for before, after in pairwise(run))
