"""Hooks as real processes: their environment, their end, and what a failure stops."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.conformance.run_store.scene import submitted
from tests.fixtures.broker import eventually

from anabranch.adapters.hooks import PASSED, HookProcess
from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.project.secrets import Secret
from anabranch.runs.hooks import HOOK_RUN, HookFailedError, Hooks

STATE = "Production unchanged."


@dataclass
class Scene:
    folder: Path
    store: SqlRunStore
    notices: list[str] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)

    def hooks(self, timeout: float = 30.0, **scripts: str) -> Hooks:
        commands = {name: (sys.executable, "-c", script) for name, script in scripts.items()}
        runner = HookProcess(self.folder, timeout, lambda: self.secrets)
        return Hooks(commands, runner, self.store.writer, "r1", "ann", {"ANABRANCH_RUN": "r1"}, self.notices.append)

    def recorded(self) -> list[dict[str, Any]]:
        return [dict(each.as_dict())["details"] for each in self.store.reader.audit(action=HOOK_RUN)]  # type: ignore[misc]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        submitted(store)
        yield Scene(tmp_path, store)


def test_a_hook_sees_its_run_and_its_secrets_and_no_other_variable(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "s3cret")
    scene.secrets = {"PAGER_TOKEN": "t0ken"}
    write = "import json, os; json.dump(dict(os.environ), open('seen.json', 'w'))"
    scene.hooks(beforeReplay=write).before("beforeReplay", STATE)
    seen = (scene.folder / "seen.json").read_text()
    assert "s3cret" not in seen
    assert all(each in seen for each in ('"ANABRANCH_RUN": "r1"', '"ANABRANCH_HOOK": "beforeReplay"', "t0ken"))
    names = {name for name in os.environ if f'"{name}"' in seen}
    assert names <= {*PASSED, "LC_CTYPE"}
    [record] = scene.recorded()
    assert (record["hook"], record["exit_code"], record["program"]) == ("beforeReplay", 0, sys.executable)
    assert "t0ken" not in str(record)


def test_a_hook_that_fails_before_a_step_stops_it(scene: Scene) -> None:
    hooks = scene.hooks(beforeReplay="import sys; print('no capacity'); sys.exit(3)", afterReplay="raise SystemExit")
    with (
        hooks.around("Replay", STATE) as step,
        pytest.raises(HookFailedError, match="ended with exit code 3") as failed,
    ):
        step.begin()
    assert failed.value.hint is not None
    assert "no capacity" in failed.value.hint
    assert [each["hook"] for each in scene.recorded()] == ["beforeReplay", "afterReplay"]


def test_a_hook_that_is_not_there_or_has_no_secret_stops_it_too(scene: Scene) -> None:
    gone = Hooks({"beforeReplay": ("./gone.sh",)}, scene.hooks().run, scene.store.writer, "r1", "ann", {}, print)
    with pytest.raises(HookFailedError, match="could not be started: No such file"):
        gone.before("beforeReplay", STATE)
    missing = Secret("${env:ABSENT_SECRET}", scene.folder)
    runner = HookProcess(scene.folder, 30, lambda: {"TOKEN": missing.reveal({})})
    hooks = Hooks({"beforeReplay": ("true",)}, runner, scene.store.writer, "r1", "ann", {}, print)
    with pytest.raises(HookFailedError, match=r"was not started: Secret .* is not available"):
        hooks.before("beforeReplay", STATE)


def test_a_hook_that_takes_too_long_is_killed_with_its_children(scene: Scene) -> None:
    script = (
        "import subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "open('child.pid', 'w').write(str(child.pid)); time.sleep(600)"
    )
    with pytest.raises(HookFailedError, match="did not end within 5 s and was killed"):
        scene.hooks(timeout=5, beforeReplay=script).before("beforeReplay", STATE)
    child = int((scene.folder / "child.pid").read_text())
    eventually(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)


def test_the_hook_after_a_step_is_told_how_it_ended_and_stops_nothing(scene: Scene) -> None:
    tell = "import os, sys; print(os.environ['ANABRANCH_OUTCOME']); sys.exit(1)"
    hooks = scene.hooks(afterReplay=tell)
    with hooks.around("Replay", STATE) as step:
        step.begin()
        step.outcome = "staged"
    with hooks.around("Replay", STATE) as step:
        step.begin()
    with hooks.around("Replay", STATE):
        pass  # refused before it began
    assert scene.notices == [
        "Hook afterReplay ended with exit code 1. staged",
        "Hook afterReplay ended with exit code 1. failed",
    ]


def test_a_hook_after_a_step_that_can_not_be_recorded_does_not_hide_what_ended_the_step(scene: Scene) -> None:
    class SilentError(AnabranchError):
        code = "test.silent"

    class Silent:
        def record_act(self, *_: object, **__: object) -> object:
            raise SilentError("The database does not answer.", state="as before", hint="wait")

    hooks = replace(scene.hooks(afterReplay="pass"), record=Silent())

    def step() -> None:
        with hooks.around("Replay", STATE) as hooked:
            hooked.begin()
            raise KeyError("what ended the step")

    with pytest.raises(KeyError):
        step()
    assert scene.notices == ["Hook afterReplay was run and is not on record: The database does not answer."]
