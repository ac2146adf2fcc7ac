"""What a topic is and where it begins and ends, asked of the cluster without joining any group."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import NOTHING_CHANGED, AnabranchError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, OffsetSpec

SECONDS = 10
"""How long one question may take. A cluster that does not answer is to be named within fifteen seconds."""
AGAIN_SECONDS = 0.2


class KafkaUnreachableError(AnabranchError):
    code = "kafka.unreachable"


class TopicMissingError(AnabranchError):
    code = "kafka.topic-missing"


@dataclass(frozen=True)
class Topic:
    name: str
    uuid: str
    """Another one under the same name means the topic was deleted and made again: other data, same offsets."""
    partitions: tuple[int, ...]


@dataclass(frozen=True)
class PartitionOffset:
    offset: int
    timestamp: int
    """In milliseconds; -1 where the broker was not asked by time."""


def admin(client: Mapping[str, str]) -> AdminClient:
    """An admin client that keeps its connection chatter to itself.

    Keep it in a variable until its answers are there: a client that nobody holds is closed, and its requests with it.
    """
    from confluent_kafka.admin import AdminClient

    return AdminClient({**client, "log_level": 0})


def describe_topic(client: Mapping[str, str], name: str) -> Topic:
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    asking = admin(client)
    try:
        found = asking.describe_topics(TopicCollection([name]), request_timeout=SECONDS)[name].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopicMissingError(
                f"There is no topic {name}.",
                state=NOTHING_CHANGED,
                hint="check the name in the pipeline's source, and the context in use (`anabranch check`)",
                topic=name,
            ) from error
        raise unreachable(client) from error
    return Topic(name, str(found.topic_id), tuple(sorted(p.id for p in found.partitions)))


def offset_ranges(client: Mapping[str, str], topic: Topic) -> dict[int, tuple[int, int]]:
    """[earliest, latest) of every partition as it stands now, as a reader of committed records sees it."""
    from confluent_kafka.admin import OffsetSpec

    earliest = list_offsets(client, topic, OffsetSpec.earliest())
    latest = list_offsets(client, topic, OffsetSpec.latest())
    return {p: (earliest[p].offset, latest[p].offset) for p in topic.partitions}


def list_offsets(
    client: Mapping[str, str], topic: Topic, spec: OffsetSpec, *, committed: bool = True
) -> dict[int, PartitionOffset]:
    """Where `spec` is in every partition; an offset of -1 means that there is no such place.

    A partition whose leader is being chosen, since it is new or a broker has gone, is asked again for a while.
    """
    from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition

    asking = admin(client)
    # A client that is asked for offsets before it knows the topic's leaders now and then waits a second or three.
    asking.describe_topics(TopicCollection([topic.name]), request_timeout=SECONDS)[topic.name].exception()
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    asked = {TopicPartition(topic.name, p): spec for p in topic.partitions}
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            futures = asking.list_offsets(asked, isolation_level=level, request_timeout=SECONDS)
            found = {tp.partition: future.result() for tp, future in futures.items()}
        except KafkaException as error:
            if error.args[0].code() not in passing() or time.monotonic() > deadline:
                raise unreachable(client) from error
            time.sleep(AGAIN_SECONDS)
        else:
            return {p: PartitionOffset(place.offset, place.timestamp) for p, place in found.items()}


def passing() -> frozenset[int]:
    """The codes of errors that go away by themselves, once a partition has its leader and everybody knows."""
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
    """The topic's settings, defaults included; None if this user may not see them."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    asking = admin(client)
    [future] = asking.describe_configs([ConfigResource(ResourceType.TOPIC, name)], request_timeout=SECONDS).values()
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
        state="The request only reads; it changed nothing.",
        hint="`anabranch dev status` for the embedded broker, `anabranch doctor` for any other",
        bootstrap=bootstrap,
    )
