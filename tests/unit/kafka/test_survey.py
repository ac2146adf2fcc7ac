"""The survey of all topics, over answers of the admin client's own result types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Node, TopicPartitionInfo, Uuid
from confluent_kafka.admin import ConfigEntry, ListOffsetsResultInfo, TopicDescription

from anabranch.adapters.kafka import survey
from anabranch.adapters.kafka.survey import _described, _keeping, _numbers, _SurveyOffsets
from anabranch.readiness.topic_retention import Keeping, KeptPartition

EARLIEST, LATEST, FIRST, RECENT = range(4)
"""The lookups of the survey, in the order in which they are asked."""
REPLICA = Node(1, "localhost", 9092)


def error(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def answered(answer: object) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)
    return future


def place(offset: int, timestamp: int = -1) -> ListOffsetsResultInfo:
    return ListOffsetsResultInfo(offset, timestamp, 0)


def topic(name: str, *numbers: int) -> TopicDescription:
    partitions = [TopicPartitionInfo(number, REPLICA, [REPLICA], [REPLICA]) for number in numbers]
    return TopicDescription(name, Uuid(0, 1), False, partitions)


@dataclass
class Cluster:
    """An admin client that answers as it was told, and remembers what it was asked."""

    offsets: Mapping[tuple[str, int], Sequence[object]] = field(default_factory=dict)
    """By partition: the answers to the four lookups."""
    topics: Mapping[str, object] = field(default_factory=dict)
    configs: Mapping[str, object] = field(default_factory=dict)
    later: dict[tuple[str, int], list[object]] = field(default_factory=dict)
    """Answers that come first, one for each time that the partition is asked; then those of `offsets`."""
    asked: list[list[tuple[str, int]]] = field(default_factory=list)

    def list_offsets(self, wanted: Mapping[Any, Any], **_options: object) -> dict[Any, Future[Any]]:
        lookup = len(self.asked) % 4
        self.asked.append([(each.topic, each.partition) for each in wanted])
        return {each: answered(self._answer((each.topic, each.partition), lookup)) for each in wanted}

    def _answer(self, at: tuple[str, int], lookup: int) -> object:
        return self.later[at].pop(0) if self.later.get(at) else self.offsets[at][lookup]

    def describe_topics(self, names: Any, **_options: object) -> dict[str, Future[Any]]:
        return {name: answered(each) for name, each in self.topics.items()}

    def describe_configs(self, resources: Sequence[Any], **_options: object) -> dict[Any, Future[Any]]:
        return {each: answered(self.configs[each.name]) for each in resources}


def ask(cluster: Cluster, *topics: TopicDescription) -> _SurveyOffsets:
    return _SurveyOffsets.ask(cluster, {each.name: each for each in topics}, 500)


GROWING = (place(10), place(100), place(12, 1_000), place(70, 5_000))


# Offsets.


def test_a_partition_as_its_four_answers_tell_it() -> None:
    found = ask(Cluster({("orders", 0): GROWING}), topic("orders", 0)).of("orders", [0], {0: 999})
    assert found == {0: KeptPartition(earliest=10, latest=100, first=1_000, recent=30, size=999)}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((place(0), place(0), place(-1), place(-1)), KeptPartition(0, 0, None, 0, None)),
        ((place(7), place(7), place(-1), place(-1)), KeptPartition(7, 7, None, 0, None)),
        ((place(0), place(9), place(9, 5), place(-1)), KeptPartition(0, 9, None, 0, None)),
        ((place(0), place(9), place(0, 5), place(0, 5)), KeptPartition(0, 9, 5, 9, None)),
        ((place(0), place(9), place(0, 5), place(12, 5)), KeptPartition(0, 9, 5, 0, None)),
    ],
    ids=["new", "emptied", "nothing left to read", "all of it is recent", "moved on between two answers"],
)
def test_without_records_there_is_no_first_one_and_no_growth(
    answers: tuple[object, ...], expected: KeptPartition
) -> None:
    found = ask(Cluster({("orders", 0): answers}), topic("orders", 0)).of("orders", [0], {})
    assert found == {0: expected}


def test_all_topics_are_asked_by_four_requests() -> None:
    cluster = Cluster({(name, number): GROWING for name in ("orders", "carts") for number in (0, 1)})
    found = ask(cluster, topic("orders", 0, 1), topic("carts", 0, 1))
    assert len(cluster.asked) == 4
    assert all(sorted(each) == sorted(cluster.offsets) for each in cluster.asked)
    assert set(found.of("carts", [0, 1], {}) or ()) == {0, 1}


@pytest.mark.parametrize("lookup", [EARLIEST, LATEST, FIRST, RECENT])
def test_one_refusal_leaves_its_topic_unknown_and_no_other(lookup: int) -> None:
    refused = list[object](GROWING)
    refused[lookup] = error(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    cluster = Cluster({("orders", 0): GROWING, ("orders", 1): refused, ("carts", 0): GROWING})
    found = ask(cluster, topic("orders", 0, 1), topic("carts", 0))
    assert found.of("orders", [0, 1], {}) is None, "half of it would look like a topic that has lost records"
    assert found.of("carts", [0], {}) is not None
    assert len(cluster.asked) == 4, "what is refused is not asked again"


def test_a_partition_whose_leader_is_being_chosen_is_asked_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "RETRY_SECONDS", 0.0)
    passing = error(KafkaError.LEADER_NOT_AVAILABLE)
    cluster = Cluster({("orders", 0): GROWING, ("orders", 1): GROWING}, later={("orders", 1): [passing] * 4})
    found = ask(cluster, topic("orders", 0, 1)).of("orders", [0, 1], {})
    assert found is not None
    assert found[0] == found[1]
    assert cluster.asked[4:] == [[("orders", 1)]] * 4


def test_a_partition_that_never_gets_a_leader_is_left_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(survey, "PATIENCE", 0.05)
    passing = [error(KafkaError.LEADER_NOT_AVAILABLE)] * 4
    cluster = Cluster({("orders", 0): passing, ("carts", 0): GROWING})
    found = ask(cluster, topic("orders", 0), topic("carts", 0))
    assert found.of("orders", [0], {}) is None
    assert found.of("carts", [0], {}) is not None


# Topics.


def test_a_topic_that_was_deleted_meanwhile_is_left_out() -> None:
    gone = error(KafkaError.UNKNOWN_TOPIC_OR_PART)
    cluster = Cluster(topics={"orders": topic("orders", 1, 0), "carts": gone})
    found = _described(cluster, ["orders", "carts"])
    assert set(found) == {"orders"}
    assert _numbers(found["orders"]) == (0, 1)
    with pytest.raises(KafkaException):
        _described(Cluster(topics={"orders": error(KafkaError._TRANSPORT)}), ["orders"])


def test_of_no_topics_nothing_is_asked() -> None:
    assert _described(Cluster(topics={"orders": topic("orders", 0)}), []) == {}


# Settings.


def entries(**changes: str | None) -> dict[str, ConfigEntry]:
    told: dict[str, str | None] = {
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
        "min.compaction.lag.ms": "0",
        **{name.replace("_", "."): value for name, value in changes.items()},
    }
    return {name: ConfigEntry(name, value) for name, value in told.items() if value is not None}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (entries(), Keeping(frozenset({"delete"}), 604_800_000, None, 0, False)),
        (entries(retention_ms="-1"), Keeping(frozenset({"delete"}), None, None, 0, False)),
        (entries(retention_ms="0", retention_bytes="9"), Keeping(frozenset({"delete"}), 0, 9, 0, False)),
        (
            entries(cleanup_policy="compact, delete", min_compaction_lag_ms="60"),
            Keeping(frozenset({"compact", "delete"}), 604_800_000, None, 60, False),
        ),
        (entries(remote_storage_enable="true"), Keeping(frozenset({"delete"}), 604_800_000, None, 0, True)),
        (entries(remote_storage_enable="false"), Keeping(frozenset({"delete"}), 604_800_000, None, 0, False)),
    ],
)
def test_the_settings_that_decide_how_long_a_record_stays(told: dict[str, ConfigEntry], expected: Keeping) -> None:
    assert _keeping(Cluster(configs={"orders": told}), ["orders"]) == {"orders": expected}


def test_a_topic_whose_settings_may_not_be_seen_is_left_out() -> None:
    refused = error(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    cluster = Cluster(configs={"orders": entries(), "carts": refused})
    assert set(_keeping(cluster, ["orders", "carts"])) == {"orders"}
