"""Live's branch on a real table: main follows only what it was merged onto, and pauses where promotion asks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from anabranch.adapters.iceberg.live_branch import LONGEST_PAUSE, LiveBranch
from anabranch.adapters.iceberg.refs import head_of, is_pause_tag
from anabranch.adapters.iceberg.table_swap import TableSwapTarget
from anabranch.promote.ports import ConcurrentCommitError

ROWS = pa.table({"n": pa.array([1], pa.int64())})


@pytest.fixture
def target(bank: Catalog) -> TableSwapTarget:
    bank.create_table("bank.accounts", ROWS.schema)
    return TableSwapTarget(bank, "bank.accounts")


def pauses(target: TableSwapTarget) -> list[str]:
    return [ref for ref in target.load().metadata.refs if is_pause_tag(ref, "r1")]


class Clock:
    """Time that passes only in sleep."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_main_follows_the_branch_unless_it_has_moved(target: TableSwapTarget) -> None:
    branch = LiveBranch(target, "accounts")
    assert branch.begin() is None, "an empty table has nothing to merge onto"
    target.load().append(ROWS)
    onto = branch.begin()
    assert onto is not None
    assert head_of(onto) == target.head()
    target.load().append(ROWS, branch=branch.name)
    kept = target.load().metadata.refs["main"]
    branch.join(onto)
    assert target.head() == target.head(branch.name) != head_of(onto)
    now = target.load().metadata.refs["main"]
    assert (now.max_ref_age_ms, now.max_snapshot_age_ms) == (kept.max_ref_age_ms, kept.max_snapshot_age_ms)

    onto = branch.begin()
    assert onto is not None
    target.load().append(ROWS, branch=branch.name)
    target.load().append(ROWS)
    theirs = target.head()
    with pytest.raises(ConcurrentCommitError):
        branch.join(onto)
    assert target.head() == theirs
    assert head_of(branch.begin() or 0) == theirs == target.head(branch.name), "and begins anew from there"


def test_live_pauses_as_long_as_a_promotion_requests_and_no_longer(target: TableSwapTarget) -> None:
    target.load().append(ROWS)
    clock = Clock()
    branch = LiveBranch(target, "accounts", clock, clock.sleep)
    target.request_live_pause("r1", 1020)
    branch.begin()
    assert 1020 <= clock.now < 1021
    target.request_live_pause("r1", 10**9)
    branch.begin()
    assert 1020 + LONGEST_PAUSE <= clock.now < 1021 + LONGEST_PAUSE
    assert len(pauses(target)) == 1, "the later request replaces the earlier one"
    target.release_live_pause("r1")
    before = clock.now
    branch.begin()
    assert clock.now == before
    assert pauses(target) == []
