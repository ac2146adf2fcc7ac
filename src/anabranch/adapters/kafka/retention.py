"""Measures when a topic deletes what a replay still needs: settings, offsets, timestamps, sizes and growth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import partition_sizes
from anabranch.adapters.kafka.sample import read_records
from anabranch.adapters.kafka.topics import Topic, TopicMissingError, describe_topic, list_offsets, topic_settings
from anabranch.plan.ports import OffsetAtTime
from anabranch.plan.retention.facts import PartitionLog, RetentionFacts, RetentionSettings
from anabranch.plan.slices import Slice, ranges_of
from anabranch.plan.target_range import EPOCH

if TYPE_CHECKING:
    from confluent_kafka.admin import OffsetSpec

MARKS = 8
"""Timestamps are read at so many places of each partition, evenly spread over what is needed. Between two, an offset
counts as old as the one before it."""
WATCHED = timedelta(hours=1)
"""Growth is counted over so long, or over the replay's own time where that shows more."""
LEAST_WATCHED_SECONDS = 5.0


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass
class KafkaRetention:
    """A `plan.retention.facts.RetentionObserver` of one topic.

    Timestamps are read once: a record's never changes. Without a limit on retention nothing but the settings is read.
    """

    access: KafkaAccess
    client_id: str
    topic: str
    clock: Callable[[], datetime] = _now
    _marks: dict[int, tuple[OffsetAtTime, ...]] = field(default_factory=dict)
    _first: tuple[float, Mapping[int, int]] | None = None
    """When the ends were first measured, and what they were."""

    def measure(self, slices: Iterable[Slice]) -> RetentionFacts:
        client, needed = self.access.client(self.client_id), ranges_of(slices)
        now = self.clock()
        try:
            topic = describe_topic(client, self.topic)
        except TopicMissingError:
            return RetentionFacts(self.topic, now, None, {})
        settings = read_settings(topic_settings(client, self.topic))
        if settings is None or (settings.retention_ms is None and settings.retention_bytes is None):
            return RetentionFacts(self.topic, now, settings, dict.fromkeys(needed, PartitionLog(0, 0)))
        from confluent_kafka.admin import OffsetSpec

        earliest = _offsets(client, topic, OffsetSpec.earliest())
        latest = _offsets(client, topic, OffsetSpec.latest())
        self._read_marks({p: (each[0][0], each[-1][1]) for p, each in needed.items()}, earliest, latest)
        recent: Mapping[int, int] = {}
        sizes: Mapping[int, int] = {}
        if settings.retention_bytes is not None:
            since = (now - WATCHED - EPOCH) // timedelta(milliseconds=1)
            recent = _offsets(client, topic, OffsetSpec.for_timestamp(since))
            sizes = partition_sizes(self.access, self.client_id, self.topic, topic.partitions)
        self._first = self._first or (time.monotonic(), latest)
        logs = {
            p: PartitionLog(
                earliest.get(p, 0),
                latest.get(p, 0),
                self._marks.get(p, ()),
                sizes.get(p),
                self._growth(p, earliest.get(p, 0), latest.get(p, 0), recent.get(p), sizes.get(p)),
            )
            for p in needed
        }
        return RetentionFacts(self.topic, now, settings, logs)

    def _read_marks(
        self, needed: Mapping[int, tuple[int, int]], earliest: Mapping[int, int], latest: Mapping[int, int]
    ) -> None:
        """Timestamps of the partitions that have none yet. One that did not answer is tried again the next time."""
        wanted = {p: span for p, span in needed.items() if not self._marks.get(p)}
        samples: list[dict[int, tuple[int, int]]] = [{} for _ in range(MARKS)]
        for partition, (first, end) in wanted.items():
            start, after = max(first, earliest.get(partition, first)), min(end, latest.get(partition, end))
            # Partitions that are short have fewer places than samples.
            for number, at in enumerate(sorted({start + (after - start) * n // MARKS for n in range(MARKS)})):
                if at < after:
                    samples[number][partition] = (at, after)
        read = read_records(self.access, self.client_id, self.topic, [each for each in samples if each])
        for partition in wanted:
            firsts = (records[partition][0] for records in read if records.get(partition))
            self._marks[partition] = tuple(sorted(set(firsts), key=lambda mark: mark.offset))

    def _growth(self, partition: int, earliest: int, latest: int, recent: int | None, size: int | None) -> float | None:
        """Bytes per second, by the records of the last hour and by what was added since the first measurement."""
        if size is None:
            return None
        counted = latest - recent if recent is not None and 0 <= recent < latest else 0
        per_second = counted / WATCHED.total_seconds()
        if self._first is not None:
            since, ends = self._first
            elapsed = time.monotonic() - since
            if elapsed >= LEAST_WATCHED_SECONDS:
                per_second = max(per_second, (latest - ends.get(partition, latest)) / elapsed)
        return per_second * size / max(1, latest - earliest)


def read_settings(settings: Mapping[str, str] | None) -> RetentionSettings | None:
    if settings is None:
        return None
    deletes = "delete" in settings["cleanup.policy"]
    return RetentionSettings(
        retention_ms=_limit(settings["retention.ms"]) if deletes else None,
        retention_bytes=_limit(settings["retention.bytes"]) if deletes else None,
        segment_ms=_limit(settings["segment.ms"]),
        segment_bytes=_limit(settings["segment.bytes"]),
    )


def _offsets(client: Mapping[str, str], topic: Topic, spec: OffsetSpec) -> dict[int, int]:
    found = list_offsets(client, topic, spec, committed=False)
    return {partition: place.offset for partition, place in found.items()}


def _limit(text: str) -> int | None:
    return None if int(text) < 0 else int(text)
