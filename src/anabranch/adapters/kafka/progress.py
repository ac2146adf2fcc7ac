"""Progress written to a consumer group without joining it, so that ordinary Kafka tools show the lag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class GroupProgress:
    """Commits offsets to one group for one topic. It never subscribes, so no member shows and nothing is rebalanced."""

    def __init__(self, client: Mapping[str, str], group: str, topic: str) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        settings: dict[str, Any] = {**client, "group.id": group, "enable.auto.commit": False, "log_level": 0}
        self._consumer = Consumer(settings)

    def commit(self, position: Mapping[int, int]) -> str | None:
        """Say where reading goes on. Returns why the cluster refused, if it did: the table counts, not the group."""
        from confluent_kafka import KafkaException, TopicPartition

        offsets = [TopicPartition(self._topic, partition, offset) for partition, offset in sorted(position.items())]
        try:
            answers = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            return str(error.args[0])
        refused = [answer.error for answer in answers or [] if answer.error is not None]
        return str(refused[0]) if refused else None

    def __enter__(self) -> GroupProgress:
        return self

    def __exit__(self, *_how: object) -> None:
        self._consumer.close()
