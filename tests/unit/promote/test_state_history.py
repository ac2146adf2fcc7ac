"""What commits since the base mean where the whole table is replaced: every live commit is caught up with."""

from __future__ import annotations

from itertools import product

import pytest

from anabranch.promote.history import (
    Author,
    BlockedByCommit,
    ClearToPromote,
    Commit,
    StagingBehind,
    classify_table_commits,
)
from anabranch.runs.heads import Head, Piece

FILE = frozenset({Piece("a.parquet")})


@pytest.mark.parametrize(
    ("added", "removed", "code"), list(product((FILE, frozenset()), (FILE, frozenset()), ("mine", "old")))
)
def test_every_live_commit_beyond_staging_is_replayed(
    added: frozenset[Piece], removed: frozenset[Piece], code: str
) -> None:
    commit = Commit(Head("1"), Author.LIVE, None, code, {0: (10, 20), 1: (5, 5)}, added, removed)
    assert classify_table_commits([commit], run="r", reached={0: 10, 1: 5}) == StagingBehind((commit,))
    assert classify_table_commits([commit], run="r", reached={0: 20, 1: 5}) == ClearToPromote(frozenset())
    assert classify_table_commits([commit], run="r", reached={1: 5}) == StagingBehind((commit,)), (
        "a partition that is new"
    )


def test_others_block_unless_they_changed_no_row() -> None:
    for author in (Author.FOREIGN, Author.PROMOTION, Author.ROLLBACK, Author.LIVE):
        commit = Commit(Head("1"), author, "another", None, {}, FILE)
        assert classify_table_commits([commit], run="r", reached={}) == BlockedByCommit(commit), author
        assert classify_table_commits([Commit(Head("1"), author, "another")], run="r", reached={}) == ClearToPromote(
            frozenset()
        )
    for fine in (
        Commit(Head("1"), Author.REWRITE, None, None, {}, FILE, FILE),
        Commit(Head("1"), Author.ROLLBACK, "r", None, {}, FILE),
    ):
        assert classify_table_commits([fine], run="r", reached={}) == ClearToPromote(frozenset())
