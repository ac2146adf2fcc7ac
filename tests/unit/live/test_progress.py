"""The counts that `live status` shows are those of the running driver."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from anabranch.live.progress import BatchDone, Progress, ProgressKeeper, load_progress


def keeper(path: Path, said: list[str], error: str | None = None) -> ProgressKeeper:
    def commit(_position: Mapping[int, int]) -> str | None:
        return error

    return ProgressKeeper(path, commit, said.append)


def batch(number: int, **changes: int) -> BatchDone:
    counts = {"records": 10, "rows": 9, "quarantined": 1, **changes}
    return BatchDone(batch=number, started=100.0, ended=101.5, event_time=None, **counts)


def test_counts_add_up_over_the_batches_of_one_driver(tmp_path: Path) -> None:
    path, said = tmp_path / "progress.json", list[str]()
    live = keeper(path, said)
    live.begin()
    live.report(batch(0), {0: (0, 10)})
    live.report(batch(1, late=2), {0: (10, 20)})
    found = load_progress(path)
    assert found is not None
    assert (found.batches, found.records, found.rows, found.quarantined, found.late) == (2, 20, 18, 2, 2)
    assert said == [
        "batch 0: 10 records, 9 rows, 1 quarantined, 1.50 s",
        "batch 1: 10 records, 9 rows, 1 quarantined, 2 late, 1.50 s",
    ]


def test_a_driver_begins_without_the_counts_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "progress.json"
    keeper(path, []).report(batch(0), {0: (0, 10)})
    keeper(path, []).begin()
    assert load_progress(path) == Progress()


def test_a_refused_offset_commit_is_logged_and_shown_until_one_succeeds(tmp_path: Path) -> None:
    path, said = tmp_path / "progress.json", list[str]()
    refused = keeper(path, said, "TOPIC_AUTHORIZATION_FAILED")
    refused.commit_group({0: 10})
    refused.report(batch(0), {0: (0, 10)})
    found = load_progress(path)
    assert found is not None
    assert found.group_error == "TOPIC_AUTHORIZATION_FAILED"
    assert said[0] == "offset commit to the consumer group failed: TOPIC_AUTHORIZATION_FAILED"
    works = keeper(path, said)
    works.commit_group({0: 20})
    works.report(batch(1), {0: (10, 20)})
    found = load_progress(path)
    assert found is not None
    assert found.group_error is None
