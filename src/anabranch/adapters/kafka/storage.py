"""Measures where a plan's offsets are stored and how fast they are read, by reading a few megabytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.bounded import ReadRefusedError, bounded_reader, messages
from anabranch.adapters.kafka.python_client import can_log_in, partition_sizes, python_client
from anabranch.adapters.kafka.topics import Topic, offset_ranges, topic_settings
from anabranch.gates.checks.storage_path import StoragePath
from anabranch.plan.offsets.intervals import common, union, width
from anabranch.plan.slices import Ranges, offsets_in
from anabranch.plan.target_range import EPOCH, FAR_AHEAD

PROBE_BYTES = 4 * 1024 * 1024
PROBE_SECONDS = 3.0
_FETCH_BYTES = 1024 * 1024
_FAR_AHEAD_MS = (FAR_AHEAD - EPOCH) // timedelta(milliseconds=1)


@dataclass(frozen=True)
class _Probed:
    bytes: int = 0
    seconds: float = 0.0
    first_ms: int | None = None
    refused: str | None = None


def measure_storage(access: KafkaAccess, client_id: str, topic: Topic, ranges: Ranges) -> StoragePath:
    client = access.client(client_id)
    settings = topic_settings(client, topic.name)
    probed = _probe(client, topic.name, ranges, time.monotonic)
    known = settings or {}
    deletes = "delete" in known.get("cleanup.policy", "")
    return StoragePath(
        offsets=offsets_in(ranges),
        tiered=_tiered(access, client_id, topic.name, ranges) if settings is None or _may_be_tiered(known) else 0,
        bytes=_bytes(access, client_id, topic, ranges),
        read_bytes=probed.bytes,
        read_seconds=round(probed.seconds, 3),
        refused=probed.refused,
        first_ms=probed.first_ms,
        settings_seen=settings is not None,
        retention_ms=_limit(known, "retention.ms") if deletes else None,
        retention_bytes=_limit(known, "retention.bytes") if deletes else None,
    )


def _tiered(access: KafkaAccess, client_id: str, topic: str, ranges: Ranges) -> int | None:
    """How many of the offsets precede the first one on a broker's local disk; None if unknown."""
    if not can_log_in(access):
        return None
    kafka = python_client()
    from kafka.admin import OffsetSpec

    request = {kafka.TopicPartition(topic, number): OffsetSpec.EARLIEST_LOCAL for number in ranges}
    try:
        with kafka.KafkaAdminClient(**access.kafka_python(client_id)) as cluster:
            local = {
                place.partition: result.offset for place, result in cluster.list_partition_offsets(request).items()
            }
    except kafka.errors.KafkaError:
        # Brokers before 3.9 do not support this request. The gate is then yellow and says what is unknown.
        return None
    return sum(width(common(each, union([(0, max(0, local[number]))]))) for number, each in ranges.items())


def _bytes(access: KafkaAccess, client_id: str, topic: Topic, ranges: Ranges) -> int | None:
    """Each partition's size times the share of its offsets in the plan; None if the cluster does not show sizes."""
    sizes = partition_sizes(access, client_id, topic.name, topic.partitions)
    if any(number not in sizes for number in ranges):
        return None
    ends = offset_ranges(access.client(client_id), topic)
    shares = {number: width(each) / max(1, ends[number][1] - ends[number][0]) for number, each in ranges.items()}
    return round(sum(sizes[number] * share for number, share in shares.items()))


def _probe(client: Mapping[str, str], topic: str, ranges: Ranges, clock: Callable[[], float]) -> _Probed:
    """Read from each partition's first offset until 4 MiB are read, the range ends, or 3 s are over."""
    spans = {number: (each[0][0], each[-1][1]) for number, each in ranges.items()}
    size, first, seen = 0, _FAR_AHEAD_MS, set[int]()
    begun = last = clock()
    try:
        with bounded_reader(client, fetch_bytes=_FETCH_BYTES) as consumer:
            for number, message in messages(consumer, topic, spans, PROBE_SECONDS):
                if message is not None:
                    size += len(message.value() or b"") + len(message.key() or b"")
                    first, last = min(first, max(0, message.timestamp()[1])), clock()
                seen.add(number)
                if size >= PROBE_BYTES and seen == set(spans):
                    break
    except ReadRefusedError as refused:
        return _Probed(refused=str(refused))
    return _Probed(size, last - begun, first if size else None)


def _may_be_tiered(settings: Mapping[str, str]) -> bool:
    return settings.get("remote.storage.enable", "false") == "true"


def _limit(settings: Mapping[str, str], name: str) -> int | None:
    number = int(settings[name])
    return None if number < 0 else number
