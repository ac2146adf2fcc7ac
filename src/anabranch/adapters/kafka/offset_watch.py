"""Looks at a topic's log ends and at a group's offsets again and again, over one connection. Joins no group."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.adapters.kafka.groups import group_names
from anabranch.adapters.kafka.topics import Topic, admin, describe_topic, retriable_codes, unreachable
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

SECONDS = 4.0
"""Timeout of one request: a look that comes late is worth less than the next one."""
PARTITIONS_EVERY = 60
"""Every so many looks it is asked whether the topic has more partitions."""


@dataclass
class OffsetWatch:
    client: Mapping[str, str]
    topic: Topic
    group: str
    _group_exists: bool = field(default=False, init=False)
    _looks: int = field(default=0, init=False)

    def log_ends(self) -> dict[int, int]:
        """The last stable offset of each partition that has a leader. Raises KafkaUnreachableError."""
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        if self._looks % PARTITIONS_EVERY == 0:
            with suppress(AnabranchError):  # what does not answer is reported below
                self.topic = describe_topic(self.client, self.topic.name)
        self._looks += 1
        request = {TopicPartition(self.topic.name, p): OffsetSpec.latest() for p in self.topic.partitions}
        ends = {}
        try:
            futures = self._admin.list_offsets(
                request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=SECONDS
            )
            for place, future in futures.items():
                try:
                    ends[place.partition] = future.result().offset
                except KafkaException as error:
                    if error.args[0].code() not in retriable_codes():
                        raise
        except KafkaException as error:
            raise unreachable(self.client) from error
        if not ends:
            raise unreachable(self.client)
        return ends

    def group_offsets(self) -> dict[int, int]:
        """The group's committed offsets; empty: it has committed none of this topic. Raises KafkaUnreachableError."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

        if not self._exists():
            return {}
        request = [ConsumerGroupTopicPartitions(self.group)]
        try:
            answer = self._admin.list_consumer_group_offsets(request, request_timeout=SECONDS)[self.group].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                self._group_exists = False
                return {}
            raise unreachable(self.client) from error
        places = answer.topic_partitions
        return {each.partition: each.offset for each in places if each.topic == self.topic.name and each.offset >= 0}

    def members(self) -> int:
        """How many members the group has. Raises KafkaUnreachableError."""
        from confluent_kafka import KafkaException

        if not self._exists():
            return 0
        try:
            described = self._admin.describe_consumer_groups([self.group], request_timeout=SECONDS)
            return len(described[self.group].result().members)
        except KafkaException as error:
            raise unreachable(self.client) from error

    def _exists(self) -> bool:
        """Asked before a group's offsets: without a coordinator, as on a new cluster, the C client crashes."""
        self._group_exists = self._group_exists or self.group in group_names(self.client)
        return self._group_exists

    @cached_property
    def _admin(self) -> AdminClient:
        return admin({"reconnect.backoff.max.ms": "1000", **self.client})
