"""What a topic is and where it begins and ends, asked of the cluster without joining any group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import NOTHING_TOUCHED, AnabranchError

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

SECONDS = 15


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
                untouched=NOTHING_TOUCHED,
                next_step="check the name in the pipeline's source, and the context in use (`anabranch check`)",
                topic=name,
            ) from error
        raise unreachable(client) from error
    return Topic(name, str(found.topic_id), tuple(sorted(p.id for p in found.partitions)))


def offset_ranges(client: Mapping[str, str], topic: Topic) -> dict[int, tuple[int, int]]:
    """[earliest, latest) of every partition as it stands now."""
    from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    asking = admin(client)
    ends: list[dict[int, int]] = []
    for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):
        asked = {TopicPartition(topic.name, p): spec for p in topic.partitions}
        try:
            futures = asking.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=SECONDS)
            ends.append({tp.partition: future.result().offset for tp, future in futures.items()})
        except KafkaException as error:
            raise unreachable(client) from error
    earliest, latest = ends
    return {p: (earliest[p], latest[p]) for p in topic.partitions}


def unreachable(client: Mapping[str, str]) -> KafkaUnreachableError:
    bootstrap = client.get("bootstrap.servers", "")
    return KafkaUnreachableError(
        f"Kafka at {bootstrap} did not answer.",
        untouched=NOTHING_TOUCHED,
        next_step="`anabranch dev status` for the embedded broker, `anabranch doctor` for any other",
        bootstrap=bootstrap,
    )
