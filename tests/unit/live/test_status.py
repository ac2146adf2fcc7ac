"""What can be told of live without Spark: states, lag, progress, the checkpoint's logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.adapters.checkpoints.log import batch_offsets, query_id
from anabranch.adapters.iceberg.live import LiveCommit
from anabranch.adapters.kafka.topics import Topic
from anabranch.adapters.processes import Process
from anabranch.live.errors import LiveStateUnreadableError
from anabranch.live.progress import REMEMBERED, BatchDone, Progress, load_progress, save_progress
from anabranch.live.query import starting_offsets
from anabranch.live.record import DriverPhase, DriverRecord, load_record, save_record
from anabranch.live.status import LiveState, live_state, measure_lag

PROCESS = Process(7, 1.5)


@pytest.mark.parametrize(
    ("phase", "alive", "state"),
    [
        (None, False, LiveState.STOPPED),
        (None, True, LiveState.STARTING),
        (DriverPhase.STARTING, True, LiveState.STARTING),
        (DriverPhase.STARTING, False, LiveState.DIED),
        (DriverPhase.RUNNING, True, LiveState.RUNNING),
        (DriverPhase.RUNNING, False, LiveState.DIED),
        (DriverPhase.STOPPED, False, LiveState.STOPPED),
        (DriverPhase.FAILED, False, LiveState.FAILED),
    ],
)
def test_the_state_from_record_and_process(phase: DriverPhase | None, alive: bool, state: LiveState) -> None:
    assert live_state(None if phase is None else DriverRecord(PROCESS, phase), alive) is state


def test_lag_counts_from_the_group_or_else_from_the_beginning() -> None:
    lag = measure_lag({0: (0, 10), 1: (5, 9), 2: (5, 9), 3: (0, 0), 4: (0, 3)}, {0: 4, 2: 2, 4: 8})

    assert dict(lag.partitions) == {0: 6, 1: 4, 2: 4, 3: 0, 4: 0}
    assert lag.total == 14


def test_records_and_progress_come_back_as_they_were(tmp_path: Path) -> None:
    record = DriverRecord(PROCESS, DriverPhase.FAILED, "digest", "query", {"code": "x.y", "what": "z"})
    save_record(tmp_path / "driver.json", record)
    assert load_record(tmp_path / "driver.json") == record

    progress = Progress()
    for number in range(REMEMBERED + 5):
        moment = "2025-06-02T00:00:00.000000Z" if number == 3 else "2025-06-01T00:00:00.000000Z"
        done = BatchDone(number, 10, 8, 1, float(number), number + 0.5, moment)
        progress = progress.after(done, {0: (number, number + 1)}, None)
    save_progress(tmp_path / "progress.json", progress)

    assert load_progress(tmp_path / "progress.json") == progress
    assert (progress.batches, progress.records, progress.rows, progress.quarantined) == (25, 250, 200, 25)
    assert progress.event_time == "2025-06-02T00:00:00.000000Z", "the newest of all, not of the last batch"
    assert len(progress.recent) == REMEMBERED
    assert progress.records_per_second == pytest.approx(200 / 19.5)
    assert progress.offsets == {"0": [24, 25]}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2}', '{"version": 1}', '{"version": 1, "process": 3}'])
def test_a_file_of_somebody_elses_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.json").write_text(text)

    with pytest.raises(LiveStateUnreadableError):
        load_record(tmp_path / "file.json")
    with pytest.raises(LiveStateUnreadableError):
        load_progress(tmp_path / "file.json")
    assert load_record(tmp_path / "none.json") is None


def test_a_batch_begins_where_the_one_before_ended(tmp_path: Path) -> None:
    for name, offsets in {"sources/0/0": {"0": 5, "1": 0}, "offsets/0": {"0": 9, "1": 0}}.items():
        _log(tmp_path / name, offsets)
    _log(tmp_path / "offsets/1", {"0": 9, "1": 4, "2": 3})
    (tmp_path / "metadata").write_text('{"id":"abc"}')

    assert query_id(tmp_path) == "abc"
    assert batch_offsets(tmp_path, 0, "t") == {0: (5, 9), 1: (0, 0)}
    assert batch_offsets(tmp_path, 1, "t") == {0: (9, 9), 1: (0, 4), 2: (0, 3)}, "an added partition begins at 0"


def _log(file: Path, offsets: dict[str, int]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("v1\n" + json.dumps({"conf": {}}) + "\n" + json.dumps({"t": offsets}))


def test_without_a_checkpoint_the_table_says_where_to_begin() -> None:
    topic = Topic("t", "uuid", (0, 1, 2))
    last = LiveCommit("live-q-3", "q", 3, 1, {0: (4, 9), 1: (0, 0)}, "uuid", 5)

    assert starting_offsets(topic, None) == "earliest"
    assert json.loads(starting_offsets(topic, last)) == {"t": {"0": 9, "1": 0, "2": -2}}
    assert starting_offsets(Topic("t", "another", (0, 1)), last) == "earliest", "other records at the same offsets"
