"""Which states of two names are compared: those at the same place, otherwise the last of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.checkpoints.tree import TOPIC, spark_checkpoint

from anabranch.adapters.checkpoints.by_name import StatesByName
from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.replay.state_comparison import CheckpointUnknownError, Held, find_pair


def held(name: str, batch: int, end: int) -> Held:
    return Held(name, Path(name), batch, {0: end}, end * 10)


KNOWN = {
    "live": [held("live", 7, 30)],
    "run": [held("run", 1, 10), held("run", 3, 30), held("run", 4, 40)],
    "short": [held("short", 1, 10), held("short", 2, 20)],
}


def pair(a: str, b: str) -> tuple[int, int]:
    first, second = find_pair("revenue", lambda name: KNOWN.get(name, []), a, b)
    return first.batch, second.batch


def test_a_run_is_taken_at_the_others_place() -> None:
    assert pair("live", "run") == (7, 3)
    assert pair("run", "live") == (3, 7)


def test_without_a_common_place_the_last_of_each_is_taken() -> None:
    assert pair("live", "short") == (7, 2)


def test_of_several_common_places_the_last_counts() -> None:
    assert pair("run", "run") == (4, 4)


def test_an_unknown_name_is_refused_by_name() -> None:
    with pytest.raises(CheckpointUnknownError, match="revenue has no stream checkpoint 'ghost'"):
        pair("live", "ghost")


def test_a_run_has_a_state_for_each_of_its_batches(tmp_path: Path) -> None:
    spark_checkpoint(tmp_path / "runs" / "r1" / "stream" / "e1", 1)
    spark_checkpoint(tmp_path / "runs" / "r1" / "stream" / "e2", 3)
    find = StatesByName(CheckpointStore.of(tmp_path, "revenue"), tmp_path / "runs", TOPIC)
    found = find("r1")
    assert [(each.batch, each.position, each.path.name) for each in found] == [
        (batch, {0: (batch + 1) * 10}, "e2") for batch in range(3)
    ]
    assert find("r2") == []
    assert find("../runs/r1") == [], "a name is no path"
