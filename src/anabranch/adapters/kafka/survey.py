"""Looks at all topics of a cluster at once: settings, offsets, first records, sizes and growth, in a few requests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.sizes import sizes_of
from anabranch.adapters.kafka.topics import AGAIN_SECONDS, SECONDS, admin, passing, unreachable
from anabranch.plan.target_range import EPOCH
from anabranch.readiness.topic_retention import Keeping, KeptPartition, KeptTopic

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

CLIENT_ID = "anabranch-retention"
PATIENCE = 5.0
"""Seconds for which partitions without a leader are asked again."""
_MILLISECOND = timedelta(milliseconds=1)


def survey_topics(
    access: KafkaAccess, *, now: datetime, watched: timedelta, only: Iterable[str] | None = None
) -> tuple[KeptTopic, ...]:
    """Every topic but Kafka's own, or those of `only` that are there. Growth is counted over the time `watched`."""
    from confluent_kafka import KafkaException

    client = access.client(CLIENT_ID)
    cluster = admin(client)
    try:
        there = {name for name in cluster.list_topics(timeout=SECONDS).topics if not name.startswith("__")}
        names = sorted(there if only is None else there & set(only))
        found = _described(cluster, names)
    except KafkaException as error:
        raise unreachable(client) from error
    if not found:
        return ()
    places = _SurveyOffsets.ask(cluster, found, (now - watched - EPOCH) // _MILLISECOND)
    keeping = _keeping(cluster, found)
    sizes = sizes_of(access, CLIENT_ID, {name: _numbers(topic) for name, topic in found.items()})
    return tuple(
        KeptTopic(
            name=name,
            uuid=str(topic.topic_id),
            replicas=max((len(each.replicas) for each in topic.partitions), default=1),
            partitions=places.of(name, _numbers(topic), sizes.get(name, {})),
            keeping=keeping.get(name),
            now=now,
            watched=watched,
        )
        for name, topic in found.items()
    )


def _described(cluster: AdminClient, names: list[str]) -> dict[str, Any]:
    """By name; a topic that was deleted meanwhile is left out."""
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    found = {}
    answers = cluster.describe_topics(TopicCollection(names), request_timeout=SECONDS) if names else {}
    for name, answer in answers.items():
        try:
            found[name] = answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


def _numbers(topic: Any) -> tuple[int, ...]:
    return tuple(sorted(partition.id for partition in topic.partitions))


@dataclass(frozen=True)
class _SurveyOffsets:
    """Answers by topic and partition. What could not be asked is missing."""

    earliest: Mapping[tuple[str, int], Any]
    latest: Mapping[tuple[str, int], Any]
    first: Mapping[tuple[str, int], Any]
    recent: Mapping[tuple[str, int], Any]

    @classmethod
    def ask(cls, cluster: AdminClient, topics: Mapping[str, Any], since: int) -> _SurveyOffsets:
        """Four requests for all partitions, all under way before the first is waited for.

        A partition whose leader is being chosen, since it is new or a broker has gone, is asked again for a while.
        """
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec

        specs = (
            OffsetSpec.earliest(),
            OffsetSpec.latest(),
            OffsetSpec.for_timestamp(0),
            OffsetSpec.for_timestamp(since),
        )
        every = [TopicPartition(name, number) for name, topic in topics.items() for number in _numbers(topic)]
        found: list[dict[tuple[str, int], Any]] = [{} for _ in specs]
        missing, deadline = [every for _ in specs], time.monotonic() + PATIENCE
        while True:
            asked = [
                cluster.list_offsets(dict.fromkeys(wanted, spec), request_timeout=SECONDS) if wanted else {}
                for spec, wanted in zip(specs, missing, strict=True)
            ]
            missing = [_take(answers, into) for answers, into in zip(asked, found, strict=True)]
            if not any(missing) or time.monotonic() > deadline:
                return cls(*found)
            time.sleep(AGAIN_SECONDS)

    def of(self, name: str, numbers: Iterable[int], sizes: Mapping[int, int]) -> dict[int, KeptPartition] | None:
        """None if any answer of the topic is missing: half of it would look like a topic that has lost records."""
        partitions = {}
        for number in numbers:
            at = (name, number)
            if not all(at in answers for answers in (self.earliest, self.latest, self.first, self.recent)):
                return None
            first, recent, latest = self.first[at], self.recent[at], self.latest[at].offset
            partitions[number] = KeptPartition(
                earliest=self.earliest[at].offset,
                latest=latest,
                first=first.timestamp if 0 <= first.offset < latest else None,
                recent=latest - recent.offset if 0 <= recent.offset < latest else 0,
                size=sizes.get(number),
            )
        return partitions


def _take(answers: Mapping[Any, Any], into: dict[tuple[str, int], Any]) -> list[Any]:
    """Keep what was answered; returns what may be answered a moment later.

    What is refused stays missing, which the audit tells as not known: one topic must not hide all others.
    """
    from confluent_kafka import KafkaException

    again = []
    for place, answer in answers.items():
        try:
            into[place.topic, place.partition] = answer.result()
        except KafkaException as error:
            if error.args[0].code() in passing():
                again.append(place)
    return again


def _keeping(cluster: AdminClient, topics: Iterable[str]) -> dict[str, Keeping]:
    """One request for all; a topic whose settings this user may not see is left out."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    asked = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
    found = {}
    for resource, answer in cluster.describe_configs(asked, request_timeout=SECONDS).items():
        try:
            told = {key: entry.value for key, entry in answer.result().items()}
        except KafkaException:
            continue
        found[resource.name] = Keeping(
            cleanup=frozenset(policy.strip() for policy in told["cleanup.policy"].split(",") if policy.strip()),
            retention_ms=_limit(told["retention.ms"]),
            retention_bytes=_limit(told["retention.bytes"]),
            compaction_lag_ms=int(told["min.compaction.lag.ms"]),
            remote=told.get("remote.storage.enable") == "true",
        )
    return found


def _limit(text: str) -> int | None:
    return None if int(text) < 0 else int(text)
