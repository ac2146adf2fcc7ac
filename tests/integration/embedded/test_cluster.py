"""Three brokers: one is killed, writing and reading go on, and it comes back in sync."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.fixtures.broker import QUIET, KafkaForTests, embedded_kafka, eventually

from anabranch.adapters.embedded.status import BrokerState

pytestmark = pytest.mark.cluster


def in_sync(kafka: KafkaForTests, topic: str) -> set[int]:
    """The brokers that are in sync on every partition."""
    from confluent_kafka.admin import AdminClient

    found = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET}).list_topics(topic, timeout=10)
    return set.intersection(*(set(p.isrs) for p in found.topics[topic].partitions.values()))


def test_a_killed_broker_is_missed_by_nobody_and_comes_back(tmp_path: Path) -> None:
    with embedded_kafka(tmp_path, brokers=3) as kafka:
        topic = kafka.create_topic(kafka.unique_name("replicated"), partitions=3)
        assert in_sync(kafka, topic) == {1, 2, 3}
        kafka.produce(topic, [f"before {n}" for n in range(300)])
        victim = kafka.stack.status().brokers[1]
        assert victim.pid is not None

        os.kill(victim.pid, signal.SIGKILL)

        eventually(lambda: kafka.stack.status().brokers[1].state is BrokerState.DIED)
        kafka.produce(topic, [f"meanwhile {n}" for n in range(300)])
        eventually(lambda: in_sync(kafka, topic) == {1, 3})
        assert len(kafka.read_all(topic)) == 600

        back = kafka.stack.up()

        assert back.all_running
        assert [b.port for b in back.brokers][1] == victim.port
        eventually(lambda: in_sync(kafka, topic) == {1, 2, 3})
        kafka.produce(topic, [f"after {n}" for n in range(300)])
        expected = {f"{when} {n}".encode() for when in ("before", "meanwhile", "after") for n in range(300)}
        assert sorted(r.value or b"" for r in kafka.read_all(topic)) == sorted(expected)

        assert {b.state for b in kafka.stack.down().brokers} == {BrokerState.STOPPED}
        assert kafka.stack.up().all_running
        assert len(kafka.read_all(topic)) == 900
