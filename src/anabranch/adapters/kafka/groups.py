"""Consumer groups as the cluster has them: looked at, never joined."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.adapters.kafka.topics import SECONDS, KafkaUnreachableError, Topic, admin, offset_ranges, unreachable
from anabranch.contract.consumer_groups import ConsumerGroup


def group_names(client: Mapping[str, str]) -> set[str]:
    """The groups that there are.

    Asked before a group's offsets are: of one whose coordinator is not there yet, as on a cluster that never had a
    group, the C client does not give an error but dies, and this process with it.
    """
    from confluent_kafka import KafkaException

    cluster = admin(client)
    try:
        return {found.group_id for found in cluster.list_consumer_groups(request_timeout=SECONDS).result().valid}
    except KafkaException as error:
        raise unreachable(client) from error


def consumer_groups(client: Mapping[str, str]) -> dict[str, ConsumerGroup]:
    """Every group with its committed offsets and the number of its members."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

    names = sorted(group_names(client))
    if not names:
        return {}
    cluster = admin(client)
    try:
        described = cluster.describe_consumer_groups(names, request_timeout=SECONDS)
        groups = {}
        for name in names:
            asked = [ConsumerGroupTopicPartitions(name)]
            found = cluster.list_consumer_group_offsets(asked, request_timeout=SECONDS)[name].result()
            offsets = {f"{tp.topic}/{tp.partition}": tp.offset for tp in found.topic_partitions}
            groups[name] = ConsumerGroup(len(described[name].result().members), offsets)
    except KafkaException as error:
        raise unreachable(client) from error
    return groups


def committed(client: Mapping[str, str], group: str, topic: str) -> dict[int, int]:
    """Where the group stands in each partition of the topic that it has committed to."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

    if group not in group_names(client):
        return {}
    cluster = admin(client)  # kept while it is asked: one that nobody holds any more never answers
    asked = [ConsumerGroupTopicPartitions(group)]
    try:
        found = cluster.list_consumer_group_offsets(asked, request_timeout=SECONDS)[group].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return {}
        raise unreachable(client) from error
    return {tp.partition: tp.offset for tp in found.topic_partitions if tp.topic == topic and tp.offset >= 0}


def lag(client: Mapping[str, str], group: str, topic: Topic) -> int | None:
    """How many offsets the group is behind on the topic; None when it has committed none, or can't be asked."""
    try:
        own = committed(client, group, topic.name)
        ends = offset_ranges(client, topic)
    except KafkaUnreachableError:
        return None
    return sum(ends[partition][1] - offset for partition, offset in own.items()) if own else None
