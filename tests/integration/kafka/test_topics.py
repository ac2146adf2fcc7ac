"""What a topic is and where it begins and ends, asked of the real broker."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.fixtures.broker import KafkaForTests

from anabranch.adapters.kafka.topics import TopicMissingError, density_of, describe_topic, offset_ranges
from anabranch.contract.partitioning import Density

pytestmark = pytest.mark.kafka


def test_a_topic_is_told_with_its_uuid_partitions_and_offsets(kafka: KafkaForTests) -> None:
    name = kafka.create_topic(kafka.unique_name(), partitions=3)
    kafka.produce(
        name, [{"value": b"x", "partition": 0}, {"value": b"y", "partition": 2}, {"value": b"z", "partition": 2}]
    )
    client = {"bootstrap.servers": kafka.bootstrap}

    topic = describe_topic(client, name)

    assert (topic.name, topic.partitions) == (name, (0, 1, 2))
    assert topic.uuid == describe_topic(client, name).uuid
    assert offset_ranges(client, topic) == {0: (0, 1), 1: (0, 0), 2: (0, 2)}


def test_a_topic_that_is_not_there_is_told_as_such(kafka: KafkaForTests) -> None:
    with pytest.raises(TopicMissingError, match="no-such-topic"):
        describe_topic({"bootstrap.servers": kafka.bootstrap}, "no-such-topic")


def test_a_topics_density_is_its_records_over_the_time_that_they_span(kafka: KafkaForTests) -> None:
    name = kafka.create_topic(kafka.unique_name(), partitions=3, config={"retention.ms": "-1"})
    client = {"bootstrap.servers": kafka.bootstrap}
    topic = describe_topic(client, name)
    assert density_of(client, topic) is None, "it has no records"
    day = 86_400_000
    stamps = [(0, 50 * day), (0, 20 * day), (2, 120 * day), (2, 30 * day)]
    kafka.produce(name, [{"value": b"x", "partition": partition, "timestamp": at} for partition, at in stamps])
    assert density_of(client, topic) == Density(4, timedelta(days=70)), "from the oldest first record to the newest"
