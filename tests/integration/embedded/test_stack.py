"""The one broker of the run, killed, frozen, restarted and misrepresented: nothing acknowledged is ever lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import psutil
import pytest
from tests.fixtures.broker import QUIET, KafkaForTests, eventually

from anabranch.adapters.embedded import state
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.status import BrokerState, BrokerStatus
from anabranch.adapters.processes import Process
from anabranch.project.location import state_folder

pytestmark = pytest.mark.kafka


def broker(kafka: KafkaForTests) -> BrokerStatus:
    (only,) = kafka.stack.status().brokers
    return only


def pid(kafka: KafkaForTests) -> int:
    found = broker(kafka).pid
    assert found is not None
    return found


def test_only_loopback_is_bound(kafka: KafkaForTests) -> None:
    connections = psutil.Process(pid(kafka)).net_connections(kind="inet")
    bound = {c.laddr.ip.removeprefix("::ffff:") for c in connections if c.status == psutil.CONN_LISTEN}

    assert bound == {"127.0.0.1"}


def test_up_again_changes_nothing(kafka: KafkaForTests) -> None:
    before = broker(kafka)

    (after,) = kafka.stack.up().brokers

    assert (after.pid, after.port, after.state) == (before.pid, before.port, BrokerState.RUNNING)


def test_acknowledged_records_survive_a_kill_while_writing(kafka: KafkaForTests) -> None:
    topic = kafka.create_topic(kafka.unique_name("killed"), partitions=3)
    acknowledged = write_until_killed(kafka, topic, enough=2000)
    port = broker(kafka).port
    eventually(lambda: broker(kafka).state is BrokerState.DIED)

    assert kafka.stack.up().all_running

    assert broker(kafka).port == port
    found = [record.value for record in kafka.read_all(topic)]
    assert len(acknowledged) >= 2000
    assert set(acknowledged) <= set(found)
    assert len(found) == len(set(found))


def write_until_killed(kafka: KafkaForTests, topic: str, enough: int) -> list[bytes]:
    """Write without pause, kill -9 the broker in the middle, and return what it had acknowledged."""
    from confluent_kafka import Producer

    acknowledged: list[bytes] = []

    def note(error: Any, message: Any) -> None:
        if error is None:
            acknowledged.append(message.value())

    settings = {"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 1}
    producer = Producer({**settings, **QUIET})
    target, written = pid(kafka), 0
    while len(acknowledged) < enough:
        producer.produce(topic, f"record {written} ".encode() * 10, on_delivery=note)
        written += 1
        producer.poll(0.01 if len(producer) > 1000 else 0)
    for _ in range(20_000):
        # Not polled meanwhile, so that the broker can't have acknowledged all of it when it is killed.
        producer.produce(topic, f"record {written} ".encode() * 10, on_delivery=note)
        written += 1
    os.kill(target, signal.SIGKILL)
    producer.poll(0.2)
    producer.purge()
    producer.flush(5)
    assert len(acknowledged) < written, "the broker was killed only after everything had been acknowledged"
    return acknowledged


def test_data_and_port_survive_down_and_up(kafka: KafkaForTests) -> None:
    topic = kafka.create_topic(kafka.unique_name("kept"), partitions=2)
    kafka.produce(topic, [{"value": f"v{n}", "key": f"k{n}", "timestamp": 1 + n} for n in range(100)])
    before, former = kafka.read_all(topic), broker(kafka)

    stopped = kafka.stack.down()

    assert [b.state for b in stopped.brokers] == [BrokerState.STOPPED]
    assert former.pid is not None
    assert not psutil.pid_exists(former.pid) or psutil.Process(former.pid).status() == psutil.STATUS_ZOMBIE
    assert kafka.stack.down() == stopped
    kafka.stack.up()
    assert broker(kafka).port == former.port
    assert sorted(kafka.read_all(topic), key=str) == sorted(before, key=str)
    assert len(before) == 100


def test_a_frozen_broker_is_told_from_a_running_one(kafka: KafkaForTests) -> None:
    frozen = pid(kafka)
    os.kill(frozen, signal.SIGSTOP)
    try:
        assert broker(kafka).state is BrokerState.UNRESPONSIVE
    finally:
        os.kill(frozen, signal.SIGCONT)
    assert kafka.stack.up().all_running


def test_a_stale_record_neither_hides_the_broker_nor_kills_a_stranger(kafka: KafkaForTests) -> None:
    path = Layout(state_folder(kafka.project)).state
    truth, real = state.load(path), pid(kafka)
    assert truth is not None
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as stranger:
        stale = truth.with_process(1, Process(stranger.pid, psutil.Process(stranger.pid).create_time()))
        state.save(path, stale)
        assert pid(kafka) == real
        assert kafka.stack.down().brokers[0].state is BrokerState.STOPPED

        state.save(path, stale)
        assert broker(kafka).state is BrokerState.DIED
        assert kafka.stack.down().brokers[0].state is BrokerState.STOPPED

        assert stranger.poll() is None
        stranger.kill()
    assert kafka.stack.up().all_running
    assert pid(kafka) != real


def test_records_of_any_age_are_kept_and_topics_are_made_on_purpose_only(kafka: KafkaForTests) -> None:
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    topic = kafka.create_topic(kafka.unique_name("old"))
    kafka.produce(topic, ["x"])  # when this is done the broker knows the topic, which it may not at once
    asked = ConfigResource(ResourceType.TOPIC, topic)
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    (settings,) = [f.result(30) for f in client.describe_configs([asked]).values()]

    assert settings["retention.ms"].value == "-1"
    mistyped = kafka.unique_name("mistyped")
    with pytest.raises(AssertionError, match="not sent"):
        kafka.produce(mistyped, ["x"])  # in which words depends on how quick the machine is
    assert mistyped not in client.list_topics(timeout=30).topics


def test_transactions_work(kafka: KafkaForTests) -> None:
    from confluent_kafka import Producer

    topic = kafka.create_topic(kafka.unique_name("transactions"))
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, **QUIET})
    producer.init_transactions(30)
    for value, commit in (("kept", True), ("aborted", False), ("kept too", True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(30)
        (producer.commit_transaction if commit else producer.abort_transaction)(30)

    assert [r.value for r in kafka.read_all(topic)] == [b"kept", b"kept too"]
    assert [r.value for r in kafka.read_all(topic, "read_uncommitted")] == [b"kept", b"aborted", b"kept too"]
