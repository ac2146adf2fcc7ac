"""A broker that is killed under a replay, and a JVM that is: named, waited for or paused by, and nothing lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.crash.shop import BUGGY, Process, Shop
from tests.crash.story import CONTRACT
from tests.fixtures.broker import KafkaForTests, embedded_kafka, eventually

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1800)]

EVENTS = 12_000
SLICES = 8
TIMED_OUT = 6


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """On a broker of its own, which the test may kill."""
    folder = tmp_path / "broker"
    folder.mkdir()
    (folder / "anabranch.yaml").touch()
    with embedded_kafka(folder) as kafka:
        shop = Shop.open(tmp_path / "shop", kafka)
        try:
            shop.live(shop.sell(EVENTS), BUGGY)
            shop.do("plan", "-f", CONTRACT, "--slice-size", str(EVENTS // SLICES), "--out", "plan.json")
            yield shop
        finally:
            shop.end()


def kill_broker(kafka: KafkaForTests) -> None:
    [broker] = kafka.stack.status().brokers
    assert broker.pid is not None
    os.kill(broker.pid, signal.SIGKILL)


def jvm_of(process: Process) -> psutil.Process:
    """Spark's JVM of a command, once a session is there: the gateway, the driver and the block manager listen."""

    def found() -> list[psutil.Process]:
        children = psutil.Process(process.popen.pid).children()
        return [each for each in children if each.name() == "java" and _listens(each)]

    eventually(lambda: bool(found()), 120)
    return found()[0]


def _listens(jvm: psutil.Process) -> bool:
    try:
        return bool(sum(each.status == psutil.CONN_LISTEN for each in jvm.net_connections("tcp")) >= 3)
    except psutil.NoSuchProcess:  # `java -version`
        return False


def test_a_broker_killed_under_a_replay_pauses_it_at_the_limit_and_is_waited_for_before(shop: Shop) -> None:
    name = f"Kafka at {shop.kafka.bootstrap}"
    process = shop.start("apply", "plan.json", ANABRANCH_OUTAGE__PAUSE_AFTER="8s")
    process.await_said("slice s")
    kill_broker(shop.kafka)
    paused = process.wait()
    assert (paused.code, shop.state) == (TIMED_OUT, "paused"), paused.err
    assert f"{name} has not answered since" in paused.err
    assert "The replay waits and continues by itself when it answers; it pauses at" in paused.err
    assert "[replay.service-outage]" in paused.err
    assert f"run       anabranch retry {shop.run_id}" in paused.err
    assert f"paused by {name}" in shop.do("status", "last").out

    for command in (("gates", "last"), ("plan", "-f", CONTRACT), ("apply", "plan.json")):
        ended = shop.start(*command).wait()
        assert "[kafka.unreachable]" in ended.err, (command, ended)
        assert "gates.closed" not in ended.err
        assert name in ended.err

    shop.kafka.stack.up(patience=120)
    process = shop.start("retry", "last")
    process.await_said("slice s")
    kill_broker(shop.kafka)
    process.await_said(f"{name} has not answered since")
    assert f"waits for {name}, which has not answered since" in shop.do("status", "last").out
    shop.kafka.stack.up(patience=120)
    process.await_said(f"{name} answers again after")
    ended = process.wait()
    assert (ended.code, shop.state) == (0, "validated"), ended.err
    assert "waits for" not in shop.do("status", "last").out

    shop.do("promote", "last", "--yes")
    compared = shop.compare(promoted=True)
    assert (compared.missing, compared.doubled) == (0, 0), compared.examples


def test_a_jvm_killed_under_a_replay_and_a_validation_is_named_and_the_next_command_goes_on(crash_shop: Shop) -> None:
    shop = crash_shop
    shop.live(shop.sell(EVENTS), BUGGY)
    shop.do("plan", "-f", CONTRACT, "--slice-size", str(EVENTS // SLICES), "--out", "plan.json")
    process = shop.start("apply", "plan.json")
    process.await_said("slice s")
    jvm_of(process).kill()
    died = process.wait()
    assert (died.code, shop.state) == (1, "failed"), died.err
    assert "Spark's JVM died: killed by SIGKILL" in died.err
    assert "[spark.jvm-died]" in died.err
    assert f"run       anabranch retry {shop.run_id}" in died.err
    assert "Traceback" not in died.err
    assert "spark.jvm-died" in shop.do("status", "last").out

    shop.do("retry", "last")
    process = shop.start("validate", "last")
    jvm_of(process).kill()
    died = process.wait()
    assert "Spark's JVM died: killed by SIGKILL" in died.err, died.err
    assert "Traceback" not in died.err
    shop.do("validate", "last")
    shop.do("promote", "last", "--yes")
    compared = shop.compare(promoted=True)
    assert (compared.missing, compared.doubled) == (0, 0), compared.examples
