"""What the race against retention is measured from, beside what was produced; and a topic's retention.ms, changed."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.fixtures.broker import QUIET, KafkaForTests

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.retention import MARKS, KafkaRetention
from anabranch.adapters.kafka.topic_retention import KafkaTopicRetention, RetentionChangeRefusedError
from anabranch.plan.retention.facts import RetentionFacts
from anabranch.plan.retention.loss import LossBy, loss_of
from anabranch.plan.slices import Slice

pytestmark = pytest.mark.kafka

DAY_MS = 86_400_000
CLIENT_ID = "test-retention-race"


def measured(kafka: KafkaForTests, topic: str, *slices: Slice) -> RetentionFacts:
    return KafkaRetention(KafkaAccess(kafka.bootstrap), CLIENT_ID, topic).measure(slices)


def test_what_is_measured_is_what_was_produced(kafka: KafkaForTests) -> None:
    settings = {"retention.ms": str(7 * DAY_MS), "retention.bytes": "1000000", "segment.ms": "60000"}
    topic = kafka.create_topic(kafka.unique_name(), 2, settings)
    now = round(time.time() * 1000)
    stamps = {0: [now - 6 * DAY_MS + 1000 * n for n in range(100)], 1: [now - 1000 * (100 - n) for n in range(50)]}
    for partition, each in stamps.items():
        kafka.produce(topic, [{"value": b"x" * 100, "partition": partition, "timestamp": at} for at in each])
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    [deleted] = client.delete_records([TopicPartition(topic, 0, 10)]).values()
    deleted.result(30)

    facts = measured(kafka, topic, Slice("a", {0: (20, 60), 1: (0, 50)}), Slice("b", {0: (60, 100)}))
    assert facts.settings is not None
    assert (facts.settings.retention_ms, facts.settings.retention_bytes) == (7 * DAY_MS, 1_000_000)
    assert facts.settings.segment_ms == 60_000
    old, new = facts.partitions[0], facts.partitions[1]
    assert (old.earliest, old.latest, new.earliest, new.latest) == (10, 100, 0, 50)
    assert [mark.offset for mark in old.marks] == [20 + 80 * n // MARKS for n in range(MARKS)]
    assert all(mark.timestamp == stamps[0][mark.offset] for mark in old.marks)
    loss = loss_of(facts, 0, 20)
    assert loss is not None
    expected = timedelta(milliseconds=stamps[0][20] + 7 * DAY_MS) - (
        facts.at - datetime(1970, 1, 1, tzinfo=timezone.utc)
    )
    assert loss.seconds == pytest.approx(expected.total_seconds(), abs=0.01)
    assert loss.by is LossBy.TIME
    assert old.bytes_per_second == 0.0, "nothing came in the last hour"
    assert new.size is not None
    assert new.bytes_per_second == pytest.approx(new.size / 3600)
    gone = loss_of(facts, 0, 9)
    assert gone is not None
    assert gone.by is LossBy.GONE


def test_without_a_limit_nothing_is_lost_and_of_a_topic_that_is_gone_all_is_unknown(kafka: KafkaForTests) -> None:
    topic = kafka.create_topic(kafka.unique_name(), 1, {"retention.ms": "-1"})
    slice_ = Slice("a", {0: (0, 10)})
    loss = loss_of(measured(kafka, topic, slice_), 0, 0)
    assert loss is not None
    assert loss.by is None
    assert loss_of(measured(kafka, kafka.unique_name(), slice_), 0, 0) is None


def test_retention_is_changed_read_back_and_inherited_again(kafka: KafkaForTests) -> None:
    topic = kafka.create_topic(kafka.unique_name(), 1)
    control = KafkaTopicRetention({"bootstrap.servers": kafka.bootstrap})
    inherited = control.read(topic)
    assert inherited is not None
    assert (inherited.milliseconds, inherited.is_own) == (-1, False)
    control.write(topic, 5 * DAY_MS)
    own = control.read(topic)
    assert own is not None
    assert (own.milliseconds, own.is_own, own.uuid) == (5 * DAY_MS, True, inherited.uuid)
    control.remove(topic)
    assert control.read(topic) == inherited
    assert control.read(kafka.unique_name()) is None
    with pytest.raises(RetentionChangeRefusedError, match="Invalid value -5"):
        control.write(topic, -5)
