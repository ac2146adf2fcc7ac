"""The checkpoint of a run: an epoch's own, from the former one's as far as the table has come, or from live's."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.unit.checkpoints.tree import TOPIC, add_state, spark_checkpoint

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.log import batch_metadata, batch_offsets, batches_done, begin_batch, query_id
from anabranch.adapters.checkpoints.run_folder import CheckpointGoneError, RunFolder, newest_epoch, remove_checkpoints
from anabranch.plan.strategies.stream_start import COLD, StreamCheckpoint, StreamStart

NOON = datetime(2025, 6, 1, 12, tzinfo=timezone.utc)


def folder_of(tmp_path: Path, *, cold: bool = False) -> RunFolder:
    kept = CheckpointStore.of(tmp_path, "revenue")
    manifest = StreamCheckpoint("1-q", "q", 1, "u1", {0: 20}, 1000, None, "c", NOON)
    start = StreamStart("1-q", manifest.digest, 1, 1000, {0: 20})
    if cold:
        start = StreamStart(None, None, COLD, 0, {0: 7})
    else:
        kept.keep(spark_checkpoint(tmp_path / "live", 2), manifest)
    return RunFolder(tmp_path / "runs" / "r1" / "stream", "r1", kept, start, TOPIC)


def advance(checkpoint: Path, batch: int) -> None:
    """As Spark would: begun by us, then state and the word that it is done."""
    begin_batch(checkpoint, batch, TOPIC, {0: 10 * (batch + 1)}, 1000 * batch, batch_metadata(checkpoint, batch - 1))
    add_state(checkpoint, batch + 1)
    (checkpoint / "commits" / str(batch)).write_text("v1\n{}")


def test_the_first_epoch_starts_from_lives_checkpoint_with_an_id_of_its_own(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    mine = folder.of(1, 0)
    assert (folder.done(mine), folder.batch(0)) == (0, 2)
    assert query_id(mine) not in ("q", "q-of-live")
    advance(mine, 2)
    assert folder.done(mine) == 1
    assert (batch_offsets(mine, 2, TOPIC), batch_metadata(mine, 2)["conf"]) == ({0: (20, 30)}, {"a": "b"})
    assert batches_done(folder.stored.path("1-q")) == [0, 1], "what is kept is not written to"
    assert query_id(folder.stored.path("1-q")) == "q-of-live"
    assert folder.of(1, 1) == mine


def test_the_next_epoch_takes_over_what_is_done_and_no_more_than_the_table_has(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    former = folder.of(1, 0)
    for batch in (2, 3, 4):
        advance(former, batch)
    (former / "offsets" / "5").write_text("begun and never done")
    behind = folder.of(2, 5)
    assert (folder.done(behind), (behind / "offsets" / "5").exists()) == (3, False)
    ahead = folder.of(3, 2)
    assert batches_done(ahead) == [0, 1, 2, 3]
    assert not (ahead / "state" / "0" / "0" / "5.delta").exists()
    assert len({query_id(each) for each in (former, behind, ahead)}) == 3
    assert newest_epoch(folder.folder) == ahead
    advance(former, 5)
    assert folder.done(behind) == 3, "whoever was superseded writes to its own"
    remove_checkpoints(folder.folder)
    assert newest_epoch(folder.folder) is None
    remove_checkpoints(folder.folder)


def test_a_cold_start_begins_where_live_began(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, cold=True)
    mine = folder.of(1, 0)
    assert (folder.done(mine), folder.batch(0)) == (0, 0)
    begin_batch(mine, 0, TOPIC, {0: 9}, 0, {"conf": {}})
    assert batch_offsets(mine, 0, TOPIC) == {0: (7, 9)}
    assert (mine / "sources" / "0" / "0").read_bytes() == b'\0v1\n{"orders":{"0":7}}'


def test_a_checkpoint_that_is_gone_or_another_one_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    other = replace(folder, start=replace(folder.start, digest="d"))
    with pytest.raises(CheckpointGoneError, match="has changed since it was planned"):
        other.of(1, 0)
    gone = replace(folder, start=replace(folder.start, checkpoint="9-q"))
    with pytest.raises(CheckpointGoneError, match="no longer exists") as told:
        gone.of(1, 0)
    assert "anabranch cancel r1" in told.value.remedy
    assert newest_epoch(folder.folder) is None
