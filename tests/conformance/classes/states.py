"""The states of a scene that a replay may start from, as `anabranch checkpoints` lists them along a backfill."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.conformance.classes.scene import Scene

from anabranch.adapters.iceberg.refs import head_of
from anabranch.app.backfill import BackfillRun
from anabranch.cli.main import main


@dataclass
class States:
    """Begins when there is a plan, and three batches of live of which the first is good."""

    scene: Scene
    run: BackfillRun
    capsys: pytest.CaptureFixture[str]

    def __post_init__(self) -> None:
        [self.first] = self.kept().values()
        assert self.run.plan.state is not None
        assert self.run.plan.state.snapshot == head_of(self.first), "the first batch is the last before the damage"
        listed = self.listed()
        assert listed["last_good"] == head_of(self.first)
        assert [each["tag"] for each in listed["checkpoints"]] == [None, None, *self.kept()]
        assert listed["checkpoints"][0]["offsets"] == {str(p): end for p, end in self.scene.position.items()}
        assert listed["checkpoints"][2]["event_time"].startswith("2025-06-01T00:4")

    def require_only_the_good_one(self) -> None:
        assert list(self.kept().values()) == [self.first]
        left = [each["snapshot"] for each in self.listed()["checkpoints"]]
        assert left == [head_of(self.first)], "the others hold what was corrected"

    def require_all(self) -> None:
        assert len(self.listed()["checkpoints"]) == len(self.scene.batches)

    def kept(self) -> dict[str, int]:
        refs = self.scene.table().metadata.refs
        return {name: ref.snapshot_id for name, ref in refs.items() if name.startswith("ab_state_")}

    def listed(self) -> dict[str, Any]:
        command = ["checkpoints", "accounts", "--project", str(self.scene.project_context.folder)]
        self.capsys.readouterr()
        assert main([*command, "--before", "2025-06-01T01:00:00Z", "-o", "json"]) == 0
        found: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        return found
