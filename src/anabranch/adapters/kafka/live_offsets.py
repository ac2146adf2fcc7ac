"""Log ends and committed offsets of several topics and groups, with one client that is kept between readings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.adapters.kafka.topics import admin, retriable_codes, unreachable


class LiveOffsetReader:
    """Reads only: joins no group and commits nothing. One request for all topics, one for each group."""

    def __init__(self, client: Mapping[str, str], seconds: float) -> None:
        self._settings = client
        self._seconds = seconds
        self._admin: Any = None

    def log_ends(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """The last stable offset of each partition. A topic that does not exist, or is denied, is left out.

        Raises KafkaUnreachableError.
        """
        from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        wanted = sorted(set(topics))
        if not wanted:
            return {}
        cluster = self._client()
        described = cluster.describe_topics(TopicCollection(wanted), request_timeout=self._seconds)
        request: dict[TopicPartition, OffsetSpec] = {}
        for name, future in described.items():
            try:
                partitions = future.result().partitions
            except KafkaException as error:
                if error.args[0].code() not in _of_one_topic():
                    raise unreachable(self._settings) from error
            else:
                request |= {TopicPartition(name, each.id): OffsetSpec.latest() for each in partitions}
        if not request:
            return {}
        answers = cluster.list_offsets(
            request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._seconds
        )
        ends: dict[str, dict[int, int]] = {}
        incomplete = set()
        for place, answer in answers.items():
            try:
                ends.setdefault(place.topic, {})[place.partition] = answer.result().offset
            except KafkaException as error:
                if error.args[0].code() not in retriable_codes():
                    raise unreachable(self._settings) from error
                incomplete.add(place.topic)  # a partition without a leader: a lag without it would be too low
        return {name: each for name, each in ends.items() if name not in incomplete}

    def committed(self, groups: Iterable[str]) -> dict[str, dict[str, dict[int, int]]]:
        """By group and topic, the committed offset of each partition; empty if there is none, or access is denied.

        Raises KafkaUnreachableError.
        """
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

        wanted = set(groups)
        cluster = self._client()
        try:
            listed = cluster.list_consumer_groups(request_timeout=self._seconds).result().valid
        except KafkaException as error:
            raise unreachable(self._settings) from error
        # Only of groups that exist: where the coordinator was never made, the C client crashes the process.
        existing = sorted({each.group_id for each in listed} & wanted)
        asked = {
            group: cluster.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)], request_timeout=self._seconds
            )[group]
            for group in existing
        }
        found: dict[str, dict[str, dict[int, int]]] = {group: {} for group in wanted}
        for group, future in asked.items():
            try:
                places = future.result().topic_partitions
            except KafkaException as error:
                if error.args[0].code() not in _of_one_group():
                    raise unreachable(self._settings) from error
            else:
                for place in places:
                    if place.offset >= 0:
                        found[group].setdefault(place.topic, {})[place.partition] = place.offset
        return found

    def _client(self) -> Any:
        """The kept client. Kept also while its requests are under way: one that is collected never answers."""
        if self._admin is None:
            self._admin = admin({"reconnect.backoff.max.ms": "1000", **self._settings})
        return self._admin


def _of_one_topic() -> frozenset[int]:
    from confluent_kafka import KafkaError

    return frozenset({*retriable_codes(), KafkaError.TOPIC_AUTHORIZATION_FAILED})


def _of_one_group() -> frozenset[int]:
    from confluent_kafka import KafkaError

    return frozenset({KafkaError.GROUP_ID_NOT_FOUND, KafkaError.GROUP_AUTHORIZATION_FAILED})
