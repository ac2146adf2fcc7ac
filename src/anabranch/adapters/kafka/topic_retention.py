"""Reads and changes `retention.ms` of one topic, and nothing else of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.adapters.kafka.topics import RETRY_SECONDS, SECONDS, TopicMissingError, admin, describe_topic
from anabranch.errors import AnabranchError
from anabranch.replay.retention_extension import TopicRetention

_NAME = "retention.ms"


class RetentionChangeRefusedError(AnabranchError):
    code = "kafka.retention-change-refused"


@dataclass(frozen=True)
class KafkaTopicRetention:
    """A `replay.retention_extension.RetentionControl`."""

    client: Mapping[str, str]

    def read(self, topic: str) -> TopicRetention | None:
        try:
            uuid = describe_topic(self.client, topic).uuid
        except TopicMissingError:
            return None
        entry = self._describe(topic)
        # A value of the topic itself, rather than of its broker or Kafka's default.
        is_own = _source(entry) == "DYNAMIC_TOPIC_CONFIG"
        return TopicRetention(topic, uuid, int(entry.value), is_own)

    def write(self, topic: str, milliseconds: int) -> None:
        self._alter(topic, str(milliseconds))
        self._await(topic, lambda entry: int(entry.value) == milliseconds)

    def remove(self, topic: str) -> None:
        self._alter(topic, None)
        self._await(topic, lambda entry: _source(entry) != "DYNAMIC_TOPIC_CONFIG")

    def _alter(self, topic: str, value: str | None) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        change = ConfigEntry(_NAME, value or "", incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        cluster = admin(self.client)
        [answer] = cluster.incremental_alter_configs([resource], request_timeout=SECONDS).values()
        try:
            answer.result()
        except KafkaException as error:
            raise _refused(topic, str(error.args[0])) from error

    def _describe(self, topic: str) -> Any:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType

        cluster = admin(self.client)
        request = [ConfigResource(ResourceType.TOPIC, topic)]
        [answer] = cluster.describe_configs(request, request_timeout=SECONDS).values()
        try:
            return answer.result()[_NAME]
        except KafkaException as error:
            raise _refused(topic, str(error.args[0])) from error

    def _await(self, topic: str, holds: Callable[[Any], bool]) -> None:
        """Read it back: a broker applies a change shortly after the controller has accepted it."""
        deadline = time.monotonic() + SECONDS
        while not holds(self._describe(topic)):
            if time.monotonic() > deadline:
                raise _refused(topic, f"it was accepted and did not take effect within {SECONDS} s")
            time.sleep(RETRY_SECONDS)


def _source(entry: Any) -> str:
    from confluent_kafka.admin import ConfigSource

    return str(ConfigSource(entry.source).name)


def _refused(topic: str, why: str) -> RetentionChangeRefusedError:
    return RetentionChangeRefusedError(
        f"retention.ms of {topic} can't be read or changed: {why}.",
        state="retention.ms is unknown: compare it with `anabranch retention audit`.",
        command=f"anabranch retention audit {topic}",
        hint="Allow DescribeConfigs and AlterConfigs on the topic, or remove retention.extendUpTo from the contract",
        topic=topic,
    )
