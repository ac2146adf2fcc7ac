"""Generated orders of a shop, the same in every run: out of order, some late, three that can't be decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from random import Random

TOPIC = "shop.orders"
PARTITIONS = 3
BEGINNING = datetime(2025, 6, 1, tzinfo=timezone.utc)
SPAN = timedelta(days=3)

_CURRENCIES = ("EUR", "EUR", "USD", "GBP", "GBP", "CHF")
_LATE_SHARE, _LATEST = 0.05, timedelta(minutes=10)
_BROKEN = (b'{"order_id": "cut sho', b"not json at all", b'{"order_id": "x", "ordered_at": "yesterday"}')


@dataclass(frozen=True)
class Record:
    partition: int
    key: bytes
    value: bytes
    timestamp: int
    """Milliseconds since 1970: when the shop sent it, which is later than when the order was placed."""


def orders(count: int, *, first: int = 0, beginning: datetime = BEGINNING, span: timedelta = SPAN) -> Iterator[Record]:
    """`count` orders, evenly over the span, one in twenty up to ten minutes late. The broken ones come first."""
    rng = Random(first)  # noqa: S311 - generated orders need no secrets
    for number, value in enumerate(_BROKEN if first == 0 else ()):
        yield Record(number % PARTITIONS, b"broken", value, _millis(beginning))
    for number in range(first, first + count):
        sent = beginning + span * (number - first) / count
        delay = _LATEST * rng.random() if rng.random() < _LATE_SHARE else timedelta(seconds=2 * rng.random())
        order = {
            "order_id": f"o-{number:07}",
            "customer": f"c-{rng.randrange(5000):04}",
            "currency": rng.choice(_CURRENCIES),
            "amount": rng.randrange(100, 50_000) / 100,
            "ordered_at": (sent - delay).isoformat(timespec="milliseconds"),
        }
        yield Record(number % PARTITIONS, str(order["customer"]).encode(), json.dumps(order).encode(), _millis(sent))


def send(client: Mapping[str, str], records: Iterator[Record]) -> int:
    """Produce the records and wait until every one is acknowledged. Returns how many."""
    from confluent_kafka import Producer

    producer = Producer({**client, "acks": "all", "linger.ms": 50, "compression.type": "lz4", "log_level": 0})
    failures: list[object] = []
    count = 0

    def on_delivery(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    for count, record in enumerate(records, 1):  # noqa: B007 - the count outlives the loop
        while True:
            try:
                producer.produce(TOPIC, record.value, record.key, record.partition, on_delivery, record.timestamp)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()
    if failures:
        raise RuntimeError(f"{len(failures)} of {count} records were not acknowledged: {failures[0]}")
    return count


def make_topic(client: Mapping[str, str]) -> bool:
    """Create the topic without a retention limit, as its records have old timestamps. False if it exists already."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    from anabranch.adapters.kafka.topics import admin

    cluster = admin(client)
    topic = NewTopic(TOPIC, PARTITIONS, 1, config={"retention.ms": "-1"})
    try:
        cluster.create_topics([topic])[TOPIC].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise
    return True


def _millis(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
