"""Consumer groups as the cluster has them: looked at, never joined."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.adapters.kafka.progress import committed
from anabranch.adapters.kafka.topics import SECONDS, KafkaUnreachableError, Topic, admin, offset_ranges, unreachable
from anabranch.close.isolation import Group


def consumer_groups(client: Mapping[str, str]) -> dict[str, Group]:
    """Every group with its committed offsets and the number of its members."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

    cluster = admin(client)
    try:
        names = [found.group_id for found in cluster.list_consumer_groups(request_timeout=SECONDS).result().valid]
        if not names:
            return {}
        described = cluster.describe_consumer_groups(names, request_timeout=SECONDS)
        groups = {}
        for name in names:
            asked = [ConsumerGroupTopicPartitions(name)]
            found = cluster.list_consumer_group_offsets(asked, request_timeout=SECONDS)[name].result()
            offsets = {f"{tp.topic}/{tp.partition}": tp.offset for tp in found.topic_partitions}
            groups[name] = Group(len(described[name].result().members), offsets)
    except KafkaException as error:
        raise unreachable(client) from error
    return groups


def lag(client: Mapping[str, str], group: str, topic: Topic) -> int | None:
    """How many offsets the group is behind on the topic; None when it has committed none, or can't be asked."""
    try:
        own = committed(client, group, topic.name)
        ends = offset_ranges(client, topic)
    except KafkaUnreachableError:
        return None
    return sum(ends[partition][1] - offset for partition, offset in own.items()) if own else None
