"""States that a replay starts from: kept by live, dropped when a promotion has corrected them, listed; and odd keys."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.conformance.classes.kinds import UPSERT, Kind
from tests.conformance.classes.scene import Scene

from anabranch.adapters.iceberg.live import last_live_commit
from anabranch.adapters.spark.keyed import KeySplitError
from anabranch.cli.main import main

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]


def kept(scene: Scene) -> dict[str, int]:
    refs = scene.table().metadata.refs
    return {name: ref.snapshot_id for name, ref in refs.items() if name.startswith("ab_state_")}


def test_states_are_kept_listed_and_dropped_with_what_was_wrong(
    damaged: Callable[[Kind], Scene], capsys: pytest.CaptureFixture[str]
) -> None:
    scene = damaged(UPSERT)
    [first] = kept(scene).values()
    run = scene.plan(slices=1)
    assert run.plan.state is not None
    assert run.plan.state.snapshot == first, "the first batch is the last before the damage"

    folder = str(scene.workplace.folder)
    command = ["checkpoints", "accounts", "--project", folder, "--before", "2025-06-01T01:00:00Z", "-o", "json"]
    assert main(command) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["last_good"] == first
    assert [each["tag"] for each in listed["checkpoints"]] == [None, None, *kept(scene)]
    assert listed["checkpoints"][0]["offsets"] == {str(p): end for p, end in scene.position.items()}
    assert listed["checkpoints"][2]["event_time"].startswith("2025-06-01T00:4")

    scene.apply(run)
    scene.promote(run)
    assert list(kept(scene).values()) == [first]
    assert main(command) == 0
    left = json.loads(capsys.readouterr().out)["checkpoints"]
    assert [each["snapshot"] for each in left] == [first], "the others hold what was corrected"
    scene.roll_back(run)
    assert main(command) == 0
    assert len(json.loads(capsys.readouterr().out)["checkpoints"]) == 3


def test_a_merge_that_changes_nothing_still_says_how_far_live_is_and_a_split_key_is_refused(
    new_scene: Callable[..., Scene],
) -> None:
    scene = new_scene(UPSERT)
    scene.produce(0, 20, seed=1)
    scene.live()
    before = scene.rows()
    scene.kafka.produce(scene.topic, [{"key": b"nobody", "value": None, "partition": 0}])
    scene.live()
    assert scene.rows() == before
    last = last_live_commit(scene.table(), "accounts")
    assert last is not None
    assert last.position == scene.position
    left = [key for key in scene.spark.session.conf.getAll if "snapshot-property" in key]
    assert left == []

    event = json.dumps({"account": "a1", "amount": 1, "at": "2025-06-01T00:00:00Z"}).encode()
    scene.kafka.produce(scene.topic, [{"key": b"a1", "value": event, "partition": p} for p in (0, 1)])
    with pytest.raises(KeySplitError) as refused:
        scene.live()
    assert "a1" in refused.value.what
    assert scene.rows() == before
