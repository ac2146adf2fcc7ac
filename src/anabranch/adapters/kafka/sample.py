"""Reads small samples of records without a consumer group, for facts that offset lookups do not give.

The C client looks up a group coordinator even with assigned partitions, which makes the broker create its offsets
topic and requires permissions on groups. The pure Python client reads without a group.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import can_log_in, python_client
from anabranch.plan.ports import OffsetAtTime

RECORDS = 200
SECONDS = 10.0
_BYTES = 64 * 1024


Spans = Mapping[int, tuple[int, int]]
"""[start, end) by partition."""
Records = Mapping[int, tuple[OffsetAtTime, ...]]


def read_records(access: KafkaAccess, client_id: str, topic: str, samples: Sequence[Spans]) -> list[Records]:
    """For each sample, the first records of each partition's span, 200 at most; aborted ones too, markers never.

    A partition that did not answer in time is left out, which must not be read as "no records".
    """
    found: list[dict[int, tuple[OffsetAtTime, ...]]] = [{} for _ in samples]
    if not any(samples) or not can_log_in(access):
        return list(found)
    kafka = python_client()
    settings = {
        **access.kafka_python(client_id),
        "group_id": None,
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_uncommitted",
        "allow_auto_create_topics": False,
        "max_partition_fetch_bytes": _BYTES,
        "max_poll_records": 10 * RECORDS,
        "fetch_max_wait_ms": 100,
        # It sleeps this long at least twice before it knows the partitions' leaders.
        "retry_backoff_ms": 10,
        # A checksum in Python takes 30 ms per MB, and only offsets and timestamps are used.
        "check_crcs": False,
        "bootstrap_timeout_ms": int(SECONDS * 1000),
    }
    try:
        consumer = kafka.KafkaConsumer(**settings)
        try:
            for spans, records in zip(samples, found, strict=True):
                _read(consumer, topic, spans, records)
        finally:
            consumer.close()
    except kafka.errors.KafkaError:
        # Samples read before the failure are valid; the others stay unknown, and the plan says so.
        return list(found)
    return list(found)


def _read(consumer: Any, topic: str, spans: Spans, found: dict[int, tuple[OffsetAtTime, ...]]) -> None:
    places = {python_client().TopicPartition(topic, number): span for number, span in spans.items()}
    consumer.assign(list(places))
    for place, (start, _) in places.items():
        consumer.seek(place, start)
    reading: dict[Any, list[OffsetAtTime]] = {place: [] for place in places}
    deadline = time.monotonic() + SECONDS
    while reading and time.monotonic() < deadline:
        for place, records in consumer.poll(timeout_ms=200).items():
            # A finished partition is read on and ignored: pausing it would delay the others.
            end = places[place][1]
            reading.get(place, []).extend(OffsetAtTime(r.offset, r.timestamp) for r in records if r.offset < end)
        for place in list(reading):
            if len(reading[place]) >= RECORDS or consumer.position(place) >= places[place][1]:
                found[place.partition] = tuple(reading.pop(place)[:RECORDS])
