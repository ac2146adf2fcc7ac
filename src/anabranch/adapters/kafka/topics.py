"""Topics: identity, settings, offsets and density, read without joining a group."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from anabranch.contract.partitioning import Density
from anabranch.errors import NOTHING_CHANGED, AnabranchError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, OffsetSpec

SECONDS = 10
"""Timeout of one request: a cluster that does not answer must be reported within 15 seconds."""
RETRY_SECONDS = 0.2


class KafkaUnreachableError(AnabranchError):
    code = "kafka.unreachable"


class TopicMissingError(AnabranchError):
    code = "kafka.topic-missing"


@dataclass(frozen=True)
class Topic:
    name: str
    uuid: str
    """A different UUID under the same name means that the topic was recreated: other records at the same offsets."""
    partitions: tuple[int, ...]


@dataclass(frozen=True)
class PartitionOffset:
    offset: int
    timestamp: int
    """In milliseconds; -1 unless the lookup was by time."""


def admin(client: Mapping[str, str]) -> AdminClient:
    """An admin client that logs nothing.

    Keep a reference until its futures are done: a garbage-collected client is closed, and its requests never finish.
    """
    from confluent_kafka.admin import AdminClient

    return AdminClient({**client, "log_level": 0})


def describe_topic(client: Mapping[str, str], name: str) -> Topic:
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    cluster = admin(client)
    try:
        found = cluster.describe_topics(TopicCollection([name]), request_timeout=SECONDS)[name].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopicMissingError(
                f"Topic {name} does not exist.",
                state=NOTHING_CHANGED,
                command="anabranch check",
                hint="Check source.topic in the pipeline and the context in use",
                topic=name,
            ) from error
        raise unreachable(client) from error
    return Topic(name, str(found.topic_id), tuple(sorted(p.id for p in found.partitions)))


def topic_names(client: Mapping[str, str]) -> list[str]:
    """The topics of the cluster that this user may describe."""
    from confluent_kafka import KafkaException

    try:
        return sorted(admin(client).list_topics(timeout=SECONDS).topics)
    except KafkaException as error:
        raise unreachable(client) from error


def offset_ranges(client: Mapping[str, str], topic: Topic) -> dict[int, tuple[int, int]]:
    """[earliest, last stable offset) of every partition now."""
    from confluent_kafka.admin import OffsetSpec

    earliest = list_offsets(client, topic, OffsetSpec.earliest())
    latest = list_offsets(client, topic, OffsetSpec.latest())
    return {p: (earliest[p].offset, latest[p].offset) for p in topic.partitions}


def list_offsets(
    client: Mapping[str, str], topic: Topic, spec: OffsetSpec, *, committed: bool = True
) -> dict[int, PartitionOffset]:
    """The offset of `spec` in every partition; -1 if there is none.

    Retries while a partition has no leader, because it is new or its broker is down.
    """
    from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition

    cluster = admin(client)
    # Without this the client sometimes waits 1 to 3 s for the topic's leaders.
    cluster.describe_topics(TopicCollection([topic.name]), request_timeout=SECONDS)[topic.name].exception()
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    request = {TopicPartition(topic.name, p): spec for p in topic.partitions}
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            futures = cluster.list_offsets(request, isolation_level=level, request_timeout=SECONDS)
            found = {tp.partition: future.result() for tp, future in futures.items()}
        except KafkaException as error:
            if error.args[0].code() not in retriable_codes() or time.monotonic() > deadline:
                raise unreachable(client) from error
            time.sleep(RETRY_SECONDS)
        else:
            return {p: PartitionOffset(place.offset, place.timestamp) for p, place in found.items()}


def retriable_codes() -> frozenset[int]:
    """Codes of errors that pass once a partition has a leader and the brokers know it."""
    from confluent_kafka import KafkaError

    return frozenset(
        {
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.NOT_LEADER_FOR_PARTITION,
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_PARTITION,
        }
    )


def topic_settings(client: Mapping[str, str], name: str) -> dict[str, str] | None:
    """The topic's settings with defaults; None if this user may not read them."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    cluster = admin(client)
    [future] = cluster.describe_configs([ConfigResource(ResourceType.TOPIC, name)], request_timeout=SECONDS).values()
    try:
        found = future.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return None
        raise unreachable(client) from error
    return {key: entry.value for key, entry in found.items() if entry.value is not None}


def unreachable(client: Mapping[str, str]) -> KafkaUnreachableError:
    bootstrap = client.get("bootstrap.servers", "")
    return KafkaUnreachableError(
        f"Kafka at {bootstrap} did not answer.",
        state="The request only reads. Nothing was changed.",
        command="anabranch doctor",
        hint="`anabranch dev status` shows the embedded broker",
        bootstrap=bootstrap,
    )


def density_of(client: Mapping[str, str], topic: Topic) -> Density | None:
    """How many records the topic has over how much time, by the timestamps of its first and newest record.

    None if it has no records. Only looks up offsets and reads no record.
    """
    from confluent_kafka.admin import OffsetSpec

    first = list_offsets(client, topic, OffsetSpec.for_timestamp(0))
    newest = list_offsets(client, topic, OffsetSpec.max_timestamp())
    starts = [place.timestamp for place in first.values() if place.offset >= 0]
    ends = [place.timestamp for place in newest.values() if place.offset >= 0]
    if not starts or not ends:
        return None
    records = sum(end - start for start, end in offset_ranges(client, topic).values())
    return Density(records, timedelta(milliseconds=max(0, max(ends) - min(starts))))
