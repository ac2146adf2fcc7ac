"""Reads a few records here and there, in no group: what lookups can't tell, records can.

The C client looks for a group's coordinator even when it is only assigned partitions, which makes the broker create
its offsets topic and needs rights on groups. The pure Python client reads with no group at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import can_log_in, python_client
from anabranch.plan.facts import Found

RECORDS = 200
SECONDS = 10.0
_BYTES = 64 * 1024
Kept = TypeVar("Kept")

Spans = Mapping[int, tuple[int, int]]
"""[start, end) by partition."""
Records = Mapping[int, tuple[Found, ...]]


def read_records(access: KafkaAccess, client_id: str, topic: str, samples: Sequence[Spans]) -> list[Records]:
    """For each sample, the first records of each partition's span, 200 at most; aborted ones too, markers never.

    A partition that did not answer in time, or at all, is left out: nobody may take that for "no records".
    """
    return list(read_sample(access, client_id, topic, samples, lambda r: Found(r.offset, r.timestamp)))


def read_sample(
    access: KafkaAccess,
    client_id: str,
    topic: str,
    samples: Sequence[Spans],
    keep: Callable[[Any], Kept],
    *,
    most: int = RECORDS,
    isolation: str = "read_uncommitted",
) -> list[dict[int, tuple[Kept, ...]]]:
    """The same of whatever is kept of a record, so that nobody holds values who needs none."""
    found: list[dict[int, tuple[Kept, ...]]] = [{} for _ in samples]
    if not any(samples) or not can_log_in(access):
        return found
    kafka = python_client()
    try:
        with reader_in_no_group(access, client_id, isolation=isolation, max_poll_records=10 * RECORDS) as consumer:
            for spans, records in zip(samples, found, strict=True):
                _read(consumer, topic, spans, records, keep, most)
    except kafka.errors.KafkaError:
        # What was read before it failed is as good as it was; the rest stays unknown, and the plan says so.
        return found
    return found


@contextmanager
def reader_in_no_group(
    access: KafkaAccess, client_id: str, *, isolation: str, fetch_bytes: int = _BYTES, max_poll_records: int
) -> Iterator[Any]:
    settings = {
        **access.kafka_python(client_id),
        "group_id": None,
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": isolation,
        "allow_auto_create_topics": False,
        "max_partition_fetch_bytes": fetch_bytes,
        "max_poll_records": max_poll_records,
        "fetch_max_wait_ms": 100,
        "bootstrap_timeout_ms": int(SECONDS * 1000),
    }
    consumer = python_client().KafkaConsumer(**settings)
    try:
        yield consumer
    finally:
        consumer.close()


def _read(
    consumer: Any,
    topic: str,
    spans: Spans,
    found: dict[int, tuple[Kept, ...]],
    keep: Callable[[Any], Kept],
    most: int,
) -> None:
    places = {python_client().TopicPartition(topic, number): span for number, span in spans.items()}
    consumer.assign(list(places))
    for place, (start, _) in places.items():
        consumer.seek(place, start)
    reading: dict[Any, list[Kept]] = {place: [] for place in places}
    deadline = time.monotonic() + SECONDS
    while reading and time.monotonic() < deadline:
        for place, records in consumer.poll(timeout_ms=200).items():
            # A partition that is done goes on being read, and ignored: pausing it here holds up the others.
            end = places[place][1]
            reading.get(place, []).extend(keep(r) for r in records if r.offset < end)
        for place in list(reading):
            if len(reading[place]) >= most or consumer.position(place) >= places[place][1]:
                found[place.partition] = tuple(reading.pop(place)[:most])
