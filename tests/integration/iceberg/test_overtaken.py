"""A commit to a branch of ours while live commits to main: found out, and done again on the table as it is then."""

from __future__ import annotations

import time
from itertools import count

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg.commits import MAIN, ONLY_THE_HEAD, point, replace_files, require
from anabranch.adapters.iceberg.rollback_rehearsal import rehearse_rollback
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.plan.target_range import WholeTable

ROWS = pa.table({"n": pa.array([1, 2, 3], pa.int64())})


@pytest.fixture
def target(bank: Catalog) -> IcebergTarget:
    bank.create_table("bank.accounts", ROWS.schema).append(ROWS)
    return IcebergTarget(bank, "bank.accounts")


def rows(target: IcebergTarget, ref: str = MAIN) -> int:
    return int(target.load().scan().use_ref(ref).to_arrow().num_rows)


def test_what_is_added_to_a_branch_is_added_again_when_main_has_moved(target: IcebergTarget) -> None:
    tries = []

    def change(table: Table, tx: Transaction) -> None:
        tries.append(table.metadata.refs[MAIN].snapshot_id)
        point(tx, "aside", tries[-1], SnapshotRefType.BRANCH, ONLY_THE_HEAD)
        replace_files(tx, "aside", [], [], {"anabranch.author": "rehearsal"})
        require(tx, {"aside": None})
        if len(tries) == 1:
            target.load().append(ROWS)

    target.change_refs(change)
    assert len(tries) == len(set(tries)) == 2
    assert rows(target) == rows(target, "aside") == 6


def test_a_mistake_of_ours_is_not_taken_for_somebody_elses_commit(target: IcebergTarget) -> None:
    def change(_table: Table, tx: Transaction) -> None:
        point(tx, "aside", 404, SnapshotRefType.BRANCH, ONLY_THE_HEAD)

    with pytest.raises(ValueError, match="404"):
        target.change_refs(change)


def test_the_way_back_is_rehearsed_while_live_commits(target: IcebergTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Live commits between the rehearsal's look at the table and its commit, each time for the first."""
    load, looks = target.load, count()

    def overtaken() -> Table:
        table = load()
        if next(looks) in (0, 2):
            load().append(ROWS)
        return table

    monkeypatch.setattr(target, "load", overtaken)
    found = rehearse_rollback(target, "r1", WholeTable(None, None), None, time.monotonic)
    monkeypatch.undo()
    assert found.same
    assert rows(target) == 9
    assert list(target.load().metadata.refs) == [MAIN]
    assert next(looks) > 4
