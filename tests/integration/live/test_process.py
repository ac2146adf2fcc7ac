"""Live as a process of its own: killed where it hurts most, restarted, looked at and stopped."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.fixtures.broker import KafkaForTests, eventually
from tests.fixtures.properties import examples
from tests.integration.live.shop import (
    assert_exact,
    assert_tiled,
    group_offsets,
    live_offsets,
    orders,
    shop_project,
)

from anabranch.app.project_context import ProjectContext
from anabranch.contract.code import code_digest
from anabranch.contract.load import load_pipelines
from anabranch.live.errors import DidNotStartError, UnknownPipelineError
from anabranch.live.lock import is_free
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline, StopOutcome
from anabranch.live.status import LiveState

PATIENCE = 600.0
PACE = LivePace(0.2, 400)
pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(3000)]


@pytest.fixture
def topic(kafka: KafkaForTests) -> str:
    return kafka.create_topic(kafka.unique_name("shop"), 3)


@pytest.fixture
def project_context(kafka: KafkaForTests, tmp_path: Path, topic: str) -> Iterator[ProjectContext]:
    made = shop_project(tmp_path / "shop", kafka, topic)
    yield made
    LivePipeline(made, "orders").stop(patience=0)


def command(project_context: ProjectContext, *arguments: str, of: str = "live") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "anabranch", of, *arguments, "orders", "--project", str(project_context.folder)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def die_at(live: LivePipeline, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start live with an appointment, and wait until it is dead."""
    monkeypatch.setenv("ANABRANCH_CRASH_AT", point)
    with suppress(DidNotStartError):  # it may be dead before we have looked
        live.start(PACE, patience=PATIENCE)
    eventually(lambda: live.status().state is LiveState.DIED, PATIENCE)
    monkeypatch.delenv("ANABRANCH_CRASH_AT")


def caught_up(live: LivePipeline) -> bool:
    status = live.status()
    assert status.state is LiveState.RUNNING, status.as_dict()
    return status.lag is not None and status.lag.total == 0


@pytest.mark.long
def test_killed_at_every_step_and_at_random_nothing_is_lost_and_nothing_twice(
    kafka: KafkaForTests, topic: str, project_context: ProjectContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = LivePipeline(project_context, "orders")
    assert live.status().state is LiveState.STOPPED
    points = ("live.commit.after:2", "live.commit.before", "live.quarantine.after", "live.group.before")
    for number, point in enumerate(points[: examples(usual=1, soak=4)]):
        kafka.produce(topic, orders(range(number * 600 + 1, number * 600 + 601), seed=number))
        die_at(live, point, monkeypatch)

    kafka.produce(topic, orders(range(3001, 3601)))
    started = live.start(PACE, patience=PATIENCE)
    assert started.pid is not None
    time.sleep(random.Random(os.urandom(8)).uniform(0, 4))  # anywhere in its work
    psutil.Process(started.pid).kill()
    eventually(lambda: live.status().state is LiveState.DIED, PATIENCE)

    final = live.start(PACE, patience=PATIENCE)
    kafka.produce(topic, orders(range(4001, 4301)))
    eventually(lambda: caught_up(live), PATIENCE)
    _look_as_a_user(project_context, final.pid)
    assert live.stop(patience=PATIENCE) is StopOutcome.AT_BATCH_BOUNDARY
    assert live.stop() is StopOutcome.WAS_NOT_RUNNING
    assert live.status().state is LiveState.STOPPED

    assert_exact(kafka, project_context, topic)
    commits = live_offsets(project_context.catalog.open().load_table("shop.orders"))
    ends = group_offsets(kafka, f"{topic}-group", topic)
    assert_tiled(commits, ends)
    _look_at_zones(project_context, topic, kafka)

    _break_the_transform(project_context)
    with pytest.raises(DidNotStartError, match=r"transforms/orders\.py:1: ZeroDivisionError.*transform\.unloadable"):
        LivePipeline(project_context, "orders").start(PACE, patience=PATIENCE)
    found = command(project_context, "status", "-o", "json")
    told = json.loads(found.stdout)
    assert (found.returncode, told["state"], told["error"]["code"]) == (1, "failed", "transform.unloadable")
    assert_exact(kafka, project_context, topic)


def _look_at_zones(project_context: ProjectContext, topic: str, kafka: KafkaForTests) -> None:
    """The map holds what the last driver told before it stopped. What the killed ones lost is a hole, and is filled."""
    found = command(project_context, "show", "-o", "json", of="zones")
    assert found.returncode == 0, found.stderr
    kept = json.loads(found.stdout)["partitions"]
    assert sum(each["counted"] for each in kept) >= 300
    assert "anabranch zones build orders" in found.stderr
    built = command(project_context, "build", "-o", "json", of="zones")
    assert built.returncode == 0, built.stderr
    assert "100%" in built.stderr
    told = json.loads(built.stdout)["partitions"]
    records = kafka.read_all(topic)
    assert all(each["counted"] == each["offsets"] for each in told)
    assert {each["partition"]: each["records"] for each in told} == {
        p: sum(record.partition == p for record in records) for p in range(len(told))
    }


def _look_as_a_user(project_context: ProjectContext, pid: int | None) -> None:
    """`live status` while it runs, and `live start` once more, which changes nothing."""
    again = command(project_context, "start", "-o", "json")
    found = command(project_context, "status", "-o", "json")
    assert (again.returncode, found.returncode) == (0, 0), again.stderr + found.stderr
    assert "already running" in again.stderr
    told = json.loads(found.stdout)
    pipeline = load_pipelines(project_context.loaded)["orders"].pipeline
    assert told["state"] == "running"
    assert told["pid"] == pid == json.loads(again.stdout)["pid"]
    assert told["code"] == told["code_on_disk"] == code_digest(project_context.folder, pipeline)
    assert told["code_differs"] is False
    assert told["lag"]["total"] == 0
    assert set(told["lag"]["partitions"]) == {"0", "1", "2"}
    assert told["last_batch"]["records"] > 0
    assert told["since_start"]["rows"] > 0
    assert told["records_per_second"] > 0
    assert told["event_time"].startswith("2025-06-01T")
    assert told["group_error"] is None
    assert told["error"] is None
    assert command(project_context, "status").returncode == 0


def _break_the_transform(project_context: ProjectContext) -> None:
    file = project_context.folder / "transforms" / "orders.py"
    file.write_text("1 / 0\n" + file.read_text())


def test_a_jvm_that_outlives_its_driver_keeps_the_lock(tmp_path: Path) -> None:
    """The child stands for a JVM in the middle of a commit: until it ends nobody else may write."""
    lock = tmp_path / "lock"
    script = (
        "import subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from anabranch.live.lock import only_driver\n"
        "with only_driver(Path(sys.argv[1]), 5) as held:\n"
        "    child = subprocess.Popen(['sleep', '60'], pass_fds=[held])\n"
        "    print(child.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(lock)], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        child = psutil.Process(int(driver.stdout.readline()))
        driver.kill()
        driver.wait(30)
        assert not is_free(lock, 0)
        child.kill()
        assert is_free(lock, 30)


def test_what_can_not_start_says_so_at_once(kafka: KafkaForTests, tmp_path: Path) -> None:
    project_context = shop_project(tmp_path / "shop", kafka, kafka.unique_name("nosuch"))

    with pytest.raises(UnknownPipelineError, match="order'"):
        LivePipeline(project_context, "order")
    with pytest.raises(DidNotStartError, match=r"Topic nosuch-.* does not exist.*kafka\.topic-missing"):
        LivePipeline(project_context, "orders").start(patience=PATIENCE)
    refused = command(project_context, "status", "-o", "json")
    told = json.loads(refused.stdout)
    assert (refused.returncode, told["state"]) == (1, "failed")
    assert told["error"]["code"] == "kafka.topic-missing"
    assert not list((project_context.state / "warehouse").rglob("*.parquet"))
