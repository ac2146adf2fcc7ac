"""Consumer groups as the broker keeps them: bystanders, and every byte of what is on record about all groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, TopicPartition
from tests.fixtures.broker import QUIET, KafkaForTests, eventually

MEMORY = "__consumer_offsets"
HOUR_MILLISECONDS = 3_600_000


def commit(kafka: KafkaForTests, group: str, topic: str, offset: int) -> None:
    """Have the group stand at this offset of partition 0, with nobody in it."""
    consumer = _consumer(kafka, group)
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


@contextmanager
def member(kafka: KafkaForTests, group: str, topic: str) -> Iterator[None]:
    """Somebody in the group, who reads the topic and commits nothing."""
    consumer = _consumer(kafka, group)
    consumer.subscribe([topic])
    try:
        eventually(lambda: consumer.poll(0.1) is not None)
        yield
    finally:
        consumer.close()


def memory(kafka: KafkaForTests) -> dict[tuple[int, bytes | None], bytes]:
    """All that the broker remembers of groups, byte for byte: the last record of every key in its own topic.

    A group that commits, joins, leaves or is made changes it.
    """
    last = {(record.partition, record.key): record.value for record in kafka.read_all(MEMORY)}
    return {key: value for key, value in last.items() if value is not None}


def _consumer(kafka: KafkaForTests, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            # A busy machine is no reason for the group to think that its member is gone.
            "session.timeout.ms": HOUR_MILLISECONDS // 4,
            "max.poll.interval.ms": HOUR_MILLISECONDS,
            **QUIET,
        }
    )
