"""Pausing, throttling, exempting and the queue by command, over a real control database and no broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.run_store.scene import MINUTE, new_run

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.project_context import open_project
from anabranch.app.replay_holds import budget_board
from anabranch.cli.main import main
from anabranch.project.scaffold import plan_project, write_project
from anabranch.replay.budget_board import Heartbeat
from anabranch.replay.budget_shares import ReplayBudget
from anabranch.replay.controls import read_controls

Command = Callable[..., tuple[int, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(plan_project(tmp_path / "shop", "shop"))
    return tmp_path / "shop"


@pytest.fixture
def store(folder: Path) -> Iterator[SqlRunStore]:
    with open_project(folder).store() as opened:
        opened.writer.submit(new_run(), actor="ada")
        yield opened


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*words: str) -> tuple[int, Any]:
        code = main([*words, "--project", str(folder), "-o", "json"])
        out = capsys.readouterr().out
        return code, json.loads(out) if out.strip() else None

    return run


def test_a_throttle_with_an_end_and_an_exemption_are_on_record(command: Command, store: SqlRunStore) -> None:
    assert command("throttle", "r1", "--rate", "2MB", "--for", "1h")[0] == 0
    assert command("throttle", "r1", "--exempt", "budget", "--for", "30m", "--reason", "month end")[0] == 0
    controls = read_controls(store.reader.audit(run_id="r1"), 500)
    assert (controls.bytes_per_second, controls.source) == (2_000_000, "throttle")
    assert controls.until is not None
    assert controls.exemptions["budget"].reason == "month end"


@pytest.mark.parametrize(
    "words",
    [
        ("--exempt", "governor"),
        ("--exempt", "governor", "--for", "1h"),
        ("--exempt", "quota", "--for", "1h", "--reason", "r"),
        ("--rate", "1MB", "--ratio", "0.5"),
        ("--ratio", "1.5"),
        ("--rate", "1MB", "--for", "soon"),
        (),
    ],
)
def test_what_is_half_said_is_refused(command: Command, store: SqlRunStore, words: tuple[str, ...]) -> None:
    assert command("throttle", "r1", *words)[0] == 2
    assert [each.action for each in store.reader.audit(run_id="r1")] == ["run.submit"]


@pytest.mark.usefixtures("store")
def test_a_ratio_without_any_rate_is_refused(command: Command) -> None:
    assert command("throttle", "r1", "--ratio", "0.5")[0] == 4


def test_all_are_paused_with_a_reason_and_resumed_with_one(command: Command, store: SqlRunStore) -> None:
    assert command("pause", "--all")[0] == 2
    assert command("pause")[0] == 2
    assert command("pause", "r1", "--all", "--reason", "sale")[0] == 2
    code, paused = command("pause", "--all", "--reason", "sale")
    assert (code, paused["context"], paused["paused"]) == (0, "dev", True)
    assert command("resume", "--all", "--reason", "over")[0] == 0
    actions = [each.action for each in store.reader.audit()]
    assert actions[-2:] == ["pause.all", "pause.all-lifted"]


def test_the_queue_is_listed_and_a_priority_changed(command: Command, store: SqlRunStore, folder: Path) -> None:
    assert command("queue") == (0, None)
    file = folder / "anabranch.yaml"
    section = "replayBudget: {bytesPerSecond: 1MB, runs: 1}\n      spark:"
    file.write_text(file.read_text().replace("spark:", section, 1))
    assert command("queue", "priority", "r1", "9")[0] == 4, "it is in no queue"
    epoch = store.writer.acquire("r1", "host:1", MINUTE, actor="ada").epoch
    budget_board(store).beat(Heartbeat("r1", epoch, "dev", ReplayBudget(1_000_000, 1)))
    assert command("queue", "priority", "r1", "11")[0] == 2
    assert command("queue", "priority", "r1", "9")[0] == 0
    code, document = command("queue")
    assert (code, document["slots"], document["used"]) == (0, 1, 1)
    [entry] = document["runs"]
    assert (entry["run"], entry["priority"], entry["why"]) == ("r1", 9, "1.0 MB/s of 1.0 MB/s; 1 of 1 slots in use")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rate", "2MB"), "reads at most 2.0 MB/s; takes effect within two seconds"),
        (("--rate", "16KiB", "--for", "1h"), "reads at most 16.4 kB/s for 1h; takes effect within two seconds"),
        (("--rate", "none"), "reads without a rate limit; takes effect within two seconds"),
        (("--exempt", "budget", "--for", "30m", "--reason", "month end"), "is exempt from the budget for 30m"),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_throttle_says_what_holds_from_now_on(command: Command, words: tuple[str, ...], message: str) -> None:
    code, document = command("throttle", "r1", *words)
    assert (code, document["message"]) == (0, message)


def test_a_ratio_says_of_which_rate(command: Command, store: SqlRunStore) -> None:
    epoch = store.writer.acquire("r1", "host:1", MINUTE, actor="ada").epoch
    allowed = {"source": "governor", "reason": "live lag 41 s", "bytes_per_second": 8_000_000, "paused": False}
    store.writer.note_pace("r1", epoch, allowed)
    code, document = command("throttle", "r1", "--ratio", "0.5")
    assert (code, document["message"]) == (
        0,
        "reads at most 4.0 MB/s (0.5 of 8.0 MB/s); takes effect within two seconds",
    )


@pytest.mark.usefixtures("store")
def test_no_extension_of_retention_is_swept_where_no_run_has_made_one(command: Command) -> None:
    assert command("retention", "sweep") == (0, {"restored": [], "failed": [], "standing": []})


@pytest.mark.usefixtures("store")
def test_the_cluster_is_not_asked_where_no_run_has_left_a_quota(command: Command) -> None:
    """Its broker is not running: a command that takes a lease must not report a quota that could not be removed."""
    assert command("quotas", "sweep") == (0, [])
