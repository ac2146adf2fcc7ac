"""Copies of live's checkpoint: cut at a batch, whole or not there, on schedule, and never at live's cost."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.unit.checkpoints.tree import TOPIC, add_state, spark_checkpoint

from anabranch.adapters.checkpoints import copying
from anabranch.adapters.checkpoints.checkpoint_store import MANIFEST, CheckpointStore, CheckpointUnreadableError
from anabranch.adapters.checkpoints.copying import CheckpointIncompleteError, copy_up_to, create_folder
from anabranch.adapters.checkpoints.log import batch_position, batch_watermarks, batches_done, query_id
from anabranch.contract.pipeline import StateKeeping
from anabranch.live.start_states import CheckpointKeeper

NOON = datetime(2025, 6, 1, 12, tzinfo=timezone.utc)


class Live:
    """A checkpoint of live, and whoever keeps copies of it."""

    def __init__(self, folder: Path) -> None:
        self.now = NOON
        self.said: list[str] = []
        self.checkpoint = spark_checkpoint(folder / "checkpoint", 3, begun=1)
        self.kept = CheckpointStore.of(folder, "revenue")
        settings = StateKeeping.model_validate({"every": "1h", "keep": "3h"})
        self.keeper = CheckpointKeeper(
            self.checkpoint, self.kept, TOPIC, "u1", "c1", settings, self.said.append, lambda: self.now.timestamp()
        )

    def names(self) -> list[str]:
        return [each.name for each in self.kept.all()]


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path)


def test_a_copy_has_all_up_to_its_batch_and_nothing_after(live: Live) -> None:
    live.keeper.after(2, "2025-06-01T11:00:00Z")
    [kept] = live.kept.all()
    assert (kept.batch, kept.query, kept.topic, kept.code) == (2, "q-of-live", "u1", "c1")
    assert (kept.position, kept.watermark, kept.event_time, kept.at) == ({0: 30}, 2000, "2025-06-01T11:00:00Z", NOON)
    copied = live.kept.path(kept.name)
    assert (batches_done(copied), query_id(copied)) == ([0, 1, 2], "q-of-live")
    assert sorted(file.name for file in (copied / "offsets").iterdir()) == ["0", "1", "2"]
    assert (batch_position(copied, 2, TOPIC), batch_watermarks(copied, 2).late_before) == ({0: 30}, 1000)
    state = sorted(file.name for file in (copied / "state" / "0" / "1").iterdir())
    assert state == [*(f".{n}.delta.crc" for n in (1, 2, 3)), *(f"{n}.delta" for n in (1, 2, 3))]
    assert (copied / "state" / "0" / "_metadata" / "metadata").read_text() == "v1"
    assert kept.digest != replace(kept, watermark=1).digest


def test_an_earlier_cut_leaves_later_state_and_half_written_files_behind(live: Live, tmp_path: Path) -> None:
    (live.checkpoint / "state" / "0" / "0" / ".4.delta.tmp").write_text("half")
    with create_folder(tmp_path / "cut") as aside:
        copy_up_to(live.checkpoint, aside, 1)
    assert batches_done(tmp_path / "cut") == [0, 1]
    assert {file.name for file in (tmp_path / "cut" / "state" / "0" / "0").glob("*.delta")} == {"1.delta", "2.delta"}
    assert not list((tmp_path / "cut").rglob("*.tmp"))


def test_a_crash_while_copying_leaves_nothing_that_looks_whole(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    class Died(BaseException): ...

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(copying, "_require_state", die)
        with pytest.raises(Died):
            live.keeper.after(2, None)
    assert live.names() == []
    live.keeper.after(2, None)
    assert live.names() == ["2-q-of-liv"]
    assert [each.name for each in live.kept.folder.iterdir()] == live.names()


def test_a_copy_that_fails_is_said_and_tried_again_with_the_next_batch(live: Live) -> None:
    (live.checkpoint / "state" / "0" / "1" / "3.delta").unlink()
    (live.checkpoint / "state" / "0" / "1" / ".3.delta.crc").unlink()
    live.keeper.after(2, None)
    assert live.names() == []
    assert "failed: CheckpointIncompleteError" in live.said[0]
    live.keeper.after(3, None)
    assert "Spark has not committed the batch" in live.said[1]
    add_state(live.checkpoint, 4)
    (live.checkpoint / "commits" / "3").write_text("v1\n{}")
    live.keeper.after(3, None)
    assert live.names() == ["3-q-of-liv"]


def test_one_is_kept_so_often_and_for_so_long(live: Live) -> None:
    for batch, minutes in ((0, 0), (1, 30), (2, 65)):
        live.now = NOON + timedelta(minutes=minutes)
        live.keeper.after(batch, None)
    assert live.names() == ["2-q-of-liv", "0-q-of-liv"]
    replace(live.keeper, _last=None).after(1, None)
    assert live.names() == ["2-q-of-liv", "0-q-of-liv"], "a restart does not forget when the last one was kept"
    live.now = NOON + timedelta(hours=3, minutes=10)
    live.keeper.after(1, None)
    assert live.names() == ["1-q-of-liv", "2-q-of-liv"]


def test_without_hard_links_files_are_copied(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "another disk")

    monkeypatch.setattr(os, "link", refuse)
    live.keeper.after(2, None)
    copied = live.kept.path("2-q-of-liv") / "state" / "0" / "0" / "3.delta"
    assert copied.read_text() == "state 3"
    assert copied.stat().st_nlink == 1


def test_a_manifest_that_cant_be_read_is_told_with_the_way_out(live: Live) -> None:
    live.keeper.after(2, None)
    (live.kept.path("2-q-of-liv") / MANIFEST).write_text("{")
    with pytest.raises(CheckpointUnreadableError) as told:
        live.kept.all()
    assert "Remove the folder" in told.value.remedy


def test_a_batch_that_is_not_done_is_no_place_to_cut(live: Live, tmp_path: Path) -> None:
    with pytest.raises(CheckpointIncompleteError), create_folder(tmp_path / "cut") as aside:
        copy_up_to(live.checkpoint, aside, 3)
    assert not (tmp_path / "cut").exists()
