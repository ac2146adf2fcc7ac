"""Reads settings, offsets, oldest records, sizes and growth of all topics of a cluster, in a few requests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import sizes_of
from anabranch.adapters.kafka.topics import RETRY_SECONDS, SECONDS, admin, retriable_codes, unreachable
from anabranch.plan.target_range import EPOCH
from anabranch.readiness.topic_retention import Keeping, KeptPartition, KeptTopic

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

CLIENT_ID = "anabranch-retention"
PATIENCE = 5.0
"""Seconds for which lookups of partitions without a leader are retried."""
_MILLISECOND = timedelta(milliseconds=1)


def survey_topics(
    access: KafkaAccess, *, now: datetime, watched: timedelta, only: Iterable[str] | None = None
) -> tuple[KeptTopic, ...]:
    """All topics but Kafka's internal ones, or the existing ones of `only`. Growth is counted over the time
    `watched`."""
    from confluent_kafka import KafkaException

    client = access.client(CLIENT_ID)
    cluster = admin(client)
    try:
        existing = {name for name in cluster.list_topics(timeout=SECONDS).topics if not name.startswith("__")}
        names = sorted(existing if only is None else existing & set(only))
        topics = _described(cluster, names)
    except KafkaException as error:
        raise unreachable(client) from error
    if not topics:
        return ()
    places = _SurveyOffsets.ask(cluster, topics, (now - watched - EPOCH) // _MILLISECOND)
    keeping = _keeping(cluster, topics)
    sizes = sizes_of(access, CLIENT_ID, {name: _numbers(topic) for name, topic in topics.items()})
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
        for name, topic in topics.items()
    )


def _described(cluster: AdminClient, names: list[str]) -> dict[str, Any]:
    """Topic descriptions by name; a topic deleted since the listing is left out."""
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
    """Offsets by topic and partition. A failed lookup is missing."""

    earliest: Mapping[tuple[str, int], Any]
    latest: Mapping[tuple[str, int], Any]
    first: Mapping[tuple[str, int], Any]
    recent: Mapping[tuple[str, int], Any]

    @classmethod
    def ask(cls, cluster: AdminClient, topics: Mapping[str, Any], since: int) -> _SurveyOffsets:
        """Four requests for all partitions, sent before the first answer is awaited.

        Lookups of partitions without a leader are retried for 5 s.
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
            answers_by_spec = [
                cluster.list_offsets(dict.fromkeys(wanted, spec), request_timeout=SECONDS) if wanted else {}
                for spec, wanted in zip(specs, missing, strict=True)
            ]
            missing = [_take(answers, into) for answers, into in zip(answers_by_spec, found, strict=True)]
            if not any(missing) or time.monotonic() > deadline:
                return cls(*found)
            time.sleep(RETRY_SECONDS)

    def of(self, name: str, numbers: Iterable[int], sizes: Mapping[int, int]) -> dict[int, KeptPartition] | None:
        """None if any lookup of the topic is missing: partial data would look like lost records."""
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
    """Store the answers; return the places to retry.

    A refused lookup stays missing, and the audit reports that topic as unknown: one topic must not hide the others.
    """
    from confluent_kafka import KafkaException

    retry = []
    for place, answer in answers.items():
        try:
            into[place.topic, place.partition] = answer.result()
        except KafkaException as error:
            if error.args[0].code() in retriable_codes():
                retry.append(place)
    return retry


def _keeping(cluster: AdminClient, topics: Iterable[str]) -> dict[str, Keeping]:
    """Settings by topic, in one request; a topic whose settings this user may not read is left out."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    request = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
    found = {}
    for resource, answer in cluster.describe_configs(request, request_timeout=SECONDS).items():
        try:
            settings = {key: entry.value for key, entry in answer.result().items()}
        except KafkaException:
            continue
        found[resource.name] = Keeping(
            cleanup=frozenset(policy.strip() for policy in settings["cleanup.policy"].split(",") if policy.strip()),
            retention_ms=_limit(settings["retention.ms"]),
            retention_bytes=_limit(settings["retention.bytes"]),
            compaction_lag_ms=int(settings["min.compaction.lag.ms"]),
            remote=settings.get("remote.storage.enable") == "true",
        )
    return found


def _limit(text: str) -> int | None:
    return None if int(text) < 0 else int(text)
