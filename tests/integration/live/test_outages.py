"""Live whose broker is killed and comes back, and whose JVM is killed: each is named, and no record is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.fixtures.broker import KafkaForTests, embedded_kafka, eventually
from tests.integration.live.shop import expected_rows, orders, rows_of, shop_project

from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.live.status import LiveState

PACE = LivePace(0.2, 400)
PATIENCE = 300
pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1800)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkaForTests]:
    folder = tmp_path / "broker"
    folder.mkdir()
    (folder / "anabranch.yaml").touch()
    with embedded_kafka(folder) as kafka:
        yield kafka


def test_a_broker_that_goes_and_a_jvm_that_dies_are_named_and_nothing_is_lost(
    broker: KafkaForTests, tmp_path: Path
) -> None:
    topic, name = broker.create_topic("shop", 3), f"Kafka at {broker.bootstrap}"
    project_context = shop_project(tmp_path / "shop", broker, topic)
    live = LivePipeline(project_context, "orders")

    def caught_up() -> bool:
        lag = live.status().lag
        return lag is not None and lag.total == 0

    def exact() -> bool:
        table = project_context.catalog.open().load_table("shop.orders")
        return rows_of(table) == expected_rows(broker.read_all(topic))

    try:
        broker.produce(topic, orders(range(300)))
        live.start(PACE)
        eventually(caught_up, PATIENCE)
        [found] = broker.stack.status().brokers
        assert found.pid is not None
        os.kill(found.pid, signal.SIGKILL)
        eventually(lambda: name in live.status().as_dict()["silent"], PATIENCE)
        assert live.status().state is LiveState.RUNNING
        broker.stack.up(patience=120)
        eventually(lambda: live.status().as_dict()["silent"] == {}, PATIENCE)
        broker.produce(topic, orders(range(300, 600)))
        eventually(lambda: live.status().state is LiveState.RUNNING and caught_up(), PATIENCE)
        assert exact()

        driver = live.status().pid
        assert driver is not None
        [jvm] = [each for each in psutil.Process(driver).children() if each.name() == "java"]
        jvm.kill()
        eventually(lambda: live.status().state is LiveState.FAILED, PATIENCE)
        error = live.status().as_dict()["error"]
        assert error["code"] == "spark.jvm-died"
        assert "Spark's JVM died: killed by SIGKILL" in error["what"]
        assert error["command"] == "anabranch live start orders"
        broker.produce(topic, orders(range(600, 700)))
        live.start(PACE)
        eventually(caught_up, PATIENCE)
        assert exact()
    finally:
        live.stop(patience=0)
