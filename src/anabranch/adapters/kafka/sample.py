"""Reads a few records here and there, in no group: what lookups can't tell, records can.

The C client looks for a group's coordinator even when it is only assigned partitions, which makes the broker create
its offsets topic and needs rights on groups. The pure Python client reads with no group at all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.plan.facts import Found

RECORDS = 200
SECONDS = 10.0
_BYTES = 256 * 1024


def read_records(
    access: KafkaAccess, client_id: str, topic: str, spans: Mapping[int, tuple[int, int]]
) -> dict[int, tuple[Found, ...]]:
    """The first records of each partition's [start, end), 200 at most; aborted ones too, markers never.

    A partition that did not answer in time, or at all, is left out: nobody may take that for "no records".
    """
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    if not spans or (access.login is not None and access.login.mechanism == "OAUTHBEARER"):
        return {}
    quiet_client()
    settings = {
        **access.kafka_python(client_id),
        "group_id": None,
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": "read_uncommitted",
        "allow_auto_create_topics": False,
        "max_partition_fetch_bytes": _BYTES,
        "max_poll_records": RECORDS,
        "fetch_max_wait_ms": 100,
        "bootstrap_timeout_ms": int(SECONDS * 1000),
    }
    found: dict[int, tuple[Found, ...]] = {}
    try:
        consumer = KafkaConsumer(**settings)
        try:
            _read(consumer, topic, spans, found)
        finally:
            consumer.close()
    except KafkaError:
        # What was read before it failed is as good as it was; the rest stays unknown, and the plan says so.
        return found
    return found


def _read(consumer: Any, topic: str, spans: Mapping[int, tuple[int, int]], found: dict[int, tuple[Found, ...]]) -> None:
    from kafka import TopicPartition

    places = {TopicPartition(topic, number): span for number, span in spans.items()}
    consumer.assign(list(places))
    for place, (start, _) in places.items():
        consumer.seek(place, start)
    reading: dict[Any, list[Found]] = {place: [] for place in places}
    deadline = time.monotonic() + SECONDS
    while reading and time.monotonic() < deadline:
        for place, records in consumer.poll(timeout_ms=200).items():
            end = places[place][1]
            reading.get(place, []).extend(Found(r.offset, r.timestamp) for r in records if r.offset < end)
        for place in list(reading):
            if len(reading[place]) >= RECORDS or consumer.position(place) >= places[place][1]:
                found[place.partition] = tuple(reading.pop(place)[:RECORDS])
                consumer.pause(place)


def quiet_client() -> None:
    """It writes its settings, passwords included, to a log at debug level, and its worries to the terminal."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
