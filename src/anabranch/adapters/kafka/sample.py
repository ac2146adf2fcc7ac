"""Reads a few records here and there, in no group: what lookups can't tell, records can.

The C client looks for a group's coordinator even when it is only assigned partitions, which makes the broker create
its offsets topic and needs rights on groups. The pure Python client reads with no group at all.
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

    A partition that did not answer in time, or at all, is left out: nobody may take that for "no records".
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
        # How long it sleeps, twice at least, until it has heard where the partitions are.
        "retry_backoff_ms": 10,
        # In Python a checksum takes 30 ms for a batch of a megabyte, and all that is looked at are offsets and times.
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
        # What was read before it failed is as good as it was; the rest stays unknown, and the plan says so.
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
            # A partition that is done goes on being read, and ignored: pausing it here holds up the others.
            end = places[place][1]
            reading.get(place, []).extend(OffsetAtTime(r.offset, r.timestamp) for r in records if r.offset < end)
        for place in list(reading):
            if len(reading[place]) >= RECORDS or consumer.position(place) >= places[place][1]:
                found[place.partition] = tuple(reading.pop(place)[:RECORDS])
