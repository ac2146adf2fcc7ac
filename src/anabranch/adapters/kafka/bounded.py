"""Reads bounded samples of a topic with the C client, which supports every codec, by assignment and without commits.

The C client looks up a group coordinator even without joining a group. Planning must leave no trace, so it uses
the Python client instead (sample.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

SECONDS = 10.0
AT_ONCE = 500
BACKOFF_MS = 5
Value = TypeVar("Value")
Spans = Mapping[int, tuple[int, int]]
"""[start, end) by partition."""


class ReadRefusedError(Exception):
    """The cluster refused to let the topic be read."""


@contextmanager
def bounded_reader(client: Mapping[str, str], *, fetch_bytes: int = 64 * 1024) -> Iterator[Consumer]:
    from confluent_kafka import Consumer

    settings: dict[str, Any] = {
        **client,
        "group.id": client["client.id"],
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        # A missing offset must be an error: any other setting would skip records silently.
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "max.partition.fetch.bytes": fetch_bytes,
        "fetch.wait.max.ms": 50,
        # By default the C client fetches up to 64 MB ahead, and brokers would send that for a sample of a few records.
        "queued.max.messages.kbytes": fetch_bytes // 1024,
        # How long it does not fetch while it holds that much; by default a second.
        "fetch.queue.backoff.ms": BACKOFF_MS,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    try:
        yield consumer
    finally:
        consumer.close()


def messages(
    consumer: Consumer, topic: str, spans: Spans, seconds: float, at_once: int = AT_ONCE
) -> Iterator[tuple[int, Message | None]]:
    """The records of each partition's span, then None for the partition. Ends when all partitions ended or time is
    up. `at_once` records are fetched before the first of them is returned."""
    from confluent_kafka import KafkaError, TopicPartition

    consumer.assign([TopicPartition(topic, number, start) for number, (start, _) in spans.items()])
    reading, deadline = set(spans), time.monotonic() + seconds
    while reading and time.monotonic() < deadline:
        for message in consumer.consume(at_once, timeout=0.1):
            number, error = message.partition(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                _raise_unless_ignored(error)
                continue
            if number not in reading:
                continue
            if error is None and message.offset() < spans[number][1]:
                yield number, message
            if error is not None or message.offset() + 1 >= spans[number][1]:
                reading.discard(number)
                yield number, None


def read_places(
    consumer: Consumer, topic: str, spans: Spans, convert: Callable[[Message], Value], limit: int
) -> dict[int, tuple[Value, ...]]:
    """The first `limit` records of each partition's span. A partition that timed out is left out: unknown, not
    empty."""
    found: dict[int, list[Value]] = {number: [] for number in spans}
    done: set[int] = set()
    for number, message in messages(consumer, topic, spans, SECONDS, limit):
        if message is not None and len(found[number]) < limit:
            found[number].append(convert(message))
        if message is None or len(found[number]) >= limit:
            done.add(number)
        if done == set(spans):
            break
    return {number: tuple(found[number]) for number in done}


def _raise_unless_ignored(error: Any) -> None:
    """Raise ReadRefusedError, except for errors about groups, which do not concern an assigned consumer."""
    from confluent_kafka import KafkaError

    ignored = (
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._TRANSPORT,
    )
    if error.code() not in ignored:
        raise ReadRefusedError(f"{error.name()}: {error.str()}")
