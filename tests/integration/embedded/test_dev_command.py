"""`anabranch dev` as a user runs it: separate processes, exit codes, data on stdout, words on stderr."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fixtures.broker import KafkaForTests

from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.status import BrokerState
from anabranch.project.location import state_folder

pytestmark = pytest.mark.long

SECONDS = 120


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "anabranch", "dev", *arguments]


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Reads both pipes to their end: it would hang if the broker had inherited one of them."""
    return subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.mark.kafka
def test_status_is_data_on_stdout(kafka: KafkaForTests) -> None:
    below = kafka.project / "transforms"
    below.mkdir(exist_ok=True)

    found = run("status", "-o", "json", folder=below)

    document = json.loads(found.stdout)
    assert (found.returncode, found.stderr) == (0, "")
    assert document["up"] is True
    assert document["bootstrap"] == kafka.bootstrap
    (broker,) = document["brokers"]
    assert broker["state"] == "running"
    assert broker["data_bytes"] > 0
    assert broker["uptime_seconds"] > 0


@pytest.mark.kafka
def test_down_and_two_ups_at_once(kafka: KafkaForTests) -> None:
    port = kafka.stack.status().brokers[0].port
    assert run("down", folder=kafka.project).returncode == 0
    stopped = run("status", folder=kafka.project)
    assert stopped.returncode == 1
    assert "stopped" in stopped.stdout

    ups = [
        subprocess.Popen(command("up"), cwd=kafka.project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [up.communicate(timeout=SECONDS) for up in ups]

    assert [up.returncode for up in ups] == [0, 0], said
    assert all("running" in out and str(port) in out for out, _ in said)
    words = sorted(err for _, err in said)
    assert sum("starting broker 1" in err for err in words) == 1, words
    assert sum("already running" in err for err in words) == 1, words


@pytest.mark.kafka
def test_a_taken_port_is_named_with_its_holder_and_the_way_out(kafka: KafkaForTests) -> None:
    former = kafka.stack.down().brokers[0].port
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", former))
        other.listen()

        refused = run("up", folder=kafka.project)
        assert refused.returncode == 4
        assert "stack.port-taken" in refused.stderr
        assert str(former) in refused.stderr
        assert f"process {os.getpid()}" in refused.stderr
        assert kafka.stack.status().brokers[0].state is BrokerState.STOPPED

        moved = run("up", "--new-ports", "-o", "json", folder=kafka.project)
    assert moved.returncode == 0, moved.stderr
    assert json.loads(moved.stdout)["brokers"][0]["port"] != former
    assert json.loads(moved.stdout)["bootstrap"] == kafka.bootstrap


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [(["--brokers", "3"], "stack.broker-count", 2), (["--new-ports"], "stack.running", 4)],
)
def test_a_running_stack_is_not_remade(kafka: KafkaForTests, arguments: list[str], code: str, exit_code: int) -> None:
    before = Layout(state_folder(kafka.project)).state.read_bytes()

    refused = run("up", *arguments, "-o", "json", folder=kafka.project)

    assert refused.returncode == exit_code
    assert refused.stdout == ""
    assert json.loads(refused.stderr)["error"]["code"] == code
    assert Layout(state_folder(kafka.project)).state.read_bytes() == before
    assert kafka.stack.status().all_running


@pytest.mark.parametrize("verb", ["up", "status", "down"])
def test_outside_of_a_project(tmp_path: Path, verb: str) -> None:
    refused = run(verb, folder=tmp_path)

    assert refused.returncode == 2
    assert "project.not-found" in refused.stderr
    assert "anabranch init" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_status_before_the_first_up(tmp_path: Path) -> None:
    (tmp_path / "anabranch.yaml").touch()

    found = run("status", "--project", str(tmp_path), folder=Path.cwd())

    assert found.returncode == 1
    assert "anabranch dev up" in found.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["anabranch.yaml"]


@pytest.mark.kafka
def test_fetch_with_everything_here(kafka: KafkaForTests, tmp_path: Path) -> None:
    from anabranch.adapters.jvm.artifacts import ArtifactCache, bundles, locked

    for bundle in bundles():
        ArtifactCache().fetch(locked(bundle))

    found = run("fetch", folder=tmp_path)
    document = json.loads(run("fetch", "-o", "json", folder=tmp_path).stdout)

    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith(f"All {document['jars']} jars are present (")
    assert document["fetched"] == 0
