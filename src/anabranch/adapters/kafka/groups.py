"""Consumer groups: read, and committed to, without joining them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.adapters.kafka.topics import SECONDS, KafkaUnreachableError, Topic, admin, offset_ranges, unreachable
from anabranch.contract.consumer_groups import ConsumerGroup


def group_names(client: Mapping[str, str]) -> set[str]:
    """The ids of all groups.

    Ask for these before a group's offsets: if the group's coordinator does not exist yet, as on a cluster that never
    had a group, the C client crashes the process.
    """
    from confluent_kafka import KafkaException

    cluster = admin(client)
    try:
        return {group.group_id for group in cluster.list_consumer_groups(request_timeout=SECONDS).result().valid}
    except KafkaException as error:
        raise unreachable(client) from error


def consumer_groups(client: Mapping[str, str]) -> dict[str, ConsumerGroup]:
    """All groups with their committed offsets and numbers of members."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

    names = sorted(group_names(client))
    if not names:
        return {}
    cluster = admin(client)
    try:
        described = cluster.describe_consumer_groups(names, request_timeout=SECONDS)
        groups = {}
        for name in names:
            request = [ConsumerGroupTopicPartitions(name)]
            committed_offsets = cluster.list_consumer_group_offsets(request, request_timeout=SECONDS)[name].result()
            offsets = {f"{tp.topic}/{tp.partition}": tp.offset for tp in committed_offsets.topic_partitions}
            groups[name] = ConsumerGroup(len(described[name].result().members), offsets)
    except KafkaException as error:
        raise unreachable(client) from error
    return groups


def committed(client: Mapping[str, str], group: str, topic: str) -> dict[int, int]:
    """The group's committed offset of each partition of the topic; partitions without one are left out."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

    if group not in group_names(client):
        return {}
    cluster = admin(client)  # keep a reference: a client that is garbage-collected never answers
    request = [ConsumerGroupTopicPartitions(group)]
    try:
        found = cluster.list_consumer_group_offsets(request, request_timeout=SECONDS)[group].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return {}
        raise unreachable(client) from error
    return {tp.partition: tp.offset for tp in found.topic_partitions if tp.topic == topic and tp.offset >= 0}


def lag(client: Mapping[str, str], group: str, topic: Topic) -> int | None:
    """How many offsets the group is behind on the topic; None if it has committed none or Kafka does not answer."""
    try:
        own = committed(client, group, topic.name)
        ends = offset_ranges(client, topic)
    except KafkaUnreachableError:
        return None
    return sum(ends[partition][1] - offset for partition, offset in own.items()) if own else None


class GroupProgress:
    """Commits offsets to one group for one topic, so that Kafka's tools show the lag. It never subscribes: the group
    has no member and is not rebalanced."""

    def __init__(self, client: Mapping[str, str], group: str, topic: str) -> None:
        from confluent_kafka import Consumer

        self._topic = topic
        settings: dict[str, Any] = {**client, "group.id": group, "enable.auto.commit": False, "log_level": 0}
        self._consumer = Consumer(settings)

    def commit(self, position: Mapping[int, int]) -> str | None:
        """Commit the next offset of each partition. Returns the cluster's error instead of raising it: the table has
        the authoritative position, and the group only shows it."""
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

    def __exit__(self, *_error: object) -> None:
        self._consumer.close()
