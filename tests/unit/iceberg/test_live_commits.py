"""Live's commits as they appear in a real table: each is seen once, and by others live's position is not moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.target.iceberg_range import IcebergRangeKind
from tests.unit.iceberg.test_code_versions import live, promotion

from anabranch.adapters.iceberg.live_commits import LiveCommits


@pytest.fixture
def kind(tmp_path: Path) -> Iterator[IcebergRangeKind]:
    kind = IcebergRangeKind(tmp_path / ".anabranch")
    yield kind
    kind.close()


@pytest.fixture
def commits(kind: IcebergRangeKind) -> LiveCommits:
    return LiveCommits(kind.table, "orders")


def ends(commits: LiveCommits) -> list[int]:
    return [each.offsets[0][1] for each in commits.look()]


def test_the_first_look_finds_where_live_stands(kind: IcebergRangeKind, commits: LiveCommits) -> None:
    live(kind, 10, "a")
    live(kind, 20, "a")
    assert ends(commits) == [10, 20], "oldest first"
    assert commits.position == {0: 20}
    assert commits.last == kind.table().metadata.snapshots[-1].timestamp_ms / 1000


def test_a_commit_is_seen_once(kind: IcebergRangeKind, commits: LiveCommits) -> None:
    live(kind, 10, "a")
    assert ends(commits) == [10]
    assert ends(commits) == []
    live(kind, 20, "a")
    live(kind, 30, "a")
    assert ends(commits) == [20, 30]
    assert commits.position == {0: 30}


def test_a_table_that_live_never_wrote_to_has_no_position(kind: IcebergRangeKind, commits: LiveCommits) -> None:
    promotion(kind, "r1")
    live(kind, 10, "a", pipeline="returns")
    assert ends(commits) == []
    assert (commits.position, commits.last, commits.gap) == ({}, None, None)


def test_commits_of_others_in_between_hide_none_of_lives(kind: IcebergRangeKind, commits: LiveCommits) -> None:
    live(kind, 10, "a")
    commits.look()
    live(kind, 20, "a")
    promotion(kind, "r1")
    live(kind, 5, "a", pipeline="returns")
    live(kind, 30, "a")
    assert ends(commits) == [20, 30]


def test_after_a_rollback_of_the_table_commits_that_were_seen_are_not_new(
    kind: IcebergRangeKind, commits: LiveCommits
) -> None:
    live(kind, 10, "a")
    live(kind, 20, "a")
    earlier = kind.table().metadata.snapshots[-2].snapshot_id
    assert ends(commits) == [10, 20]
    kind.table().manage_snapshots().rollback_to_snapshot(earlier).commit()
    assert ends(commits) == []
    assert commits.position == {0: 20}, "the position never moves back"
    live(kind, 30, "a")
    assert ends(commits) == [30]


def test_the_usual_gap_is_the_median_of_the_last_commits(kind: IcebergRangeKind, commits: LiveCommits) -> None:
    live(kind, 10, "a")
    commits.look()
    assert commits.gap is None, "one commit has no gap"
    live(kind, 20, "a")
    live(kind, 30, "a")
    commits.look()
    times = [each.timestamp_ms / 1000 for each in kind.table().metadata.snapshots][-3:]
    gaps = sorted((times[1] - times[0], times[2] - times[1]))
    assert commits.gap == gaps[1]
