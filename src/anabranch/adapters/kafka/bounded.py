"""Reads a little of a topic with the C client, which knows every codec: by assignment, committing nothing.

It looks for a group's coordinator though it joins none, so that a plan, which leaves no trace at all, does not use it.
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
Kept = TypeVar("Kept")
Spans = Mapping[int, tuple[int, int]]
"""[start, end) by partition."""


class ReadRefusedError(Exception):
    """The cluster did not let it be read. Whoever asked says what that means."""


@contextmanager
def bounded_reader(client: Mapping[str, str], *, fetch_bytes: int = 64 * 1024) -> Iterator[Consumer]:
    from confluent_kafka import Consumer

    settings: dict[str, Any] = {
        **client,
        "group.id": client["client.id"],
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        # An offset that is gone is an error. Any other answer would skip records in silence.
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "max.partition.fetch.bytes": fetch_bytes,
        "fetch.wait.max.ms": 50,
        "log_level": 0,
    }
    consumer = Consumer(settings)
    try:
        yield consumer
    finally:
        consumer.close()


def messages(consumer: Consumer, topic: str, spans: Spans, seconds: float) -> Iterator[tuple[int, Message | None]]:
    """The records of each partition's span; None once it has no more. Ends when all have, or time is up."""
    from confluent_kafka import KafkaError, TopicPartition

    consumer.assign([TopicPartition(topic, number, start) for number, (start, _) in spans.items()])
    reading, deadline = set(spans), time.monotonic() + seconds
    while reading and time.monotonic() < deadline:
        for message in consumer.consume(AT_ONCE, timeout=0.1):
            number, error = message.partition(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                _refuse(error)
                continue
            if number not in reading:
                continue
            if error is None and message.offset() < spans[number][1]:
                yield number, message
            if error is not None or message.offset() + 1 >= spans[number][1]:
                reading.discard(number)
                yield number, None


def read_places(
    consumer: Consumer, topic: str, spans: Spans, keep: Callable[[Message], Kept], most: int
) -> dict[int, tuple[Kept, ...]]:
    """The first records of each partition's span. One that did not answer in time is left out: unknown, not empty."""
    found: dict[int, list[Kept]] = {number: [] for number in spans}
    done: set[int] = set()
    for number, message in messages(consumer, topic, spans, SECONDS):
        if message is not None and len(found[number]) < most:
            found[number].append(keep(message))
        if message is None or len(found[number]) >= most:
            done.add(number)
        if done == set(spans):
            break
    return {number: tuple(found[number]) for number in done}


def _refuse(error: Any) -> None:
    """What is said of groups is no matter of ours, who are in none."""
    from confluent_kafka import KafkaError

    passing = (
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._TRANSPORT,
    )
    if error.code() not in passing:
        raise ReadRefusedError(f"{error.name()}: {error.str()}")
