"""Which slices bring staging up to live, and how far it has come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.properties import effort

from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import OFFSETS_PER_SLICE, Offsets, ranges_of
from anabranch.plan.strategies.start_snapshots import StartSnapshot
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, WholeTable
from anabranch.promote.catch_up import missed, reached
from anabranch.promote.history import Author, Commit, StagingBehind, classify_table_commits
from anabranch.replay.ledger import CATCH_UP
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import StagedSlice
from anabranch.runs.heads import Head, Piece

PART = PartitionRange(TimeAxis("at", Grain.DAY), 0, 1)
RANGE = Plan(
    pipeline="orders",
    contract="c1",
    code="fixed",
    source=PlannedSource("shop.orders", "u1", 1, {0: ((0, 50),)}, {0: 50}),
    target=PlannedTarget("shop.orders", Head("7"), "schema", PART, None, None),
    slices=(),
)
TABLE = replace(RANGE, strategy=Strategy.MERGE_FORWARD, target=replace(RANGE.target, partitions=WholeTable(None)))


def live(snapshot: int, offsets: Offsets) -> Commit:
    return Commit(
        Head(str(snapshot)), Author.LIVE, None, "buggy", offsets, added=frozenset({Piece(f"live-{snapshot}")})
    )


def staged(slice_id: str, offsets: Offsets) -> StagedSlice:
    return StagedSlice(slice_id, 1, Head("40"), offsets, SliceLedger(0, {}))


def test_of_a_range_each_commit_of_live_is_a_slice_of_its_own() -> None:
    slices = missed(RANGE, [live(8, {0: (50, 60)}), live(9, {0: (60, 65), 1: (0, 3)})], {})
    assert [each.offsets for each in slices] == [{0: (50, 60)}, {0: (60, 65), 1: (0, 3)}]
    assert len({each.id for each in slices}) == 2
    assert all(each.id.startswith(CATCH_UP) for each in slices)


def test_nothing_was_missed_where_live_committed_nothing() -> None:
    assert missed(RANGE, [], {}) == missed(TABLE, [], {0: 50}) == ()


def test_of_a_whole_table_they_are_one_merge_from_where_staging_has_come() -> None:
    commits = [live(8, {0: (50, 60)}), live(9, {0: (60, 65), 1: (0, 3)})]
    [slice_] = missed(TABLE, commits, {0: 55})
    assert slice_.offsets == {0: (55, 65), 1: (0, 3)}
    assert slice_.id.startswith(f"{CATCH_UP}9")


def test_a_partition_that_staging_has_is_not_read_again() -> None:
    [slice_] = missed(TABLE, [live(8, {0: (50, 60), 1: (0, 3)})], {0: 60, 1: 1})
    assert slice_.offsets == {1: (1, 3)}
    assert missed(TABLE, [live(8, {0: (50, 60)})], {0: 61}) == ()


def test_a_long_way_to_live_is_cut_and_each_slice_has_a_name_of_its_own() -> None:
    slices = missed(TABLE, [live(8, {0: (50, 50 + 3 * OFFSETS_PER_SLICE)})], {0: 50})
    assert len(slices) == len({each.id for each in slices}) == 3
    assert ranges_of(slices) == {0: ((50, 50 + 3 * OFFSETS_PER_SLICE),)}


def test_staging_has_come_as_far_as_its_slices_or_the_state_it_started_from() -> None:
    started = replace(TABLE, state=StartSnapshot(Head("3"), {0: 20, 1: 8}))
    assert reached(started, []) == {0: 20, 1: 8}
    slices = [staged("s00001", {0: (35, 50)}), staged("s00000", {0: (20, 35), 2: (0, 4)})]
    assert reached(started, slices) == {0: 50, 1: 8, 2: 4}
    assert reached(TABLE, []) == {}


batches = st.lists(st.dictionaries(st.integers(0, 2), st.integers(1, 50), min_size=1), min_size=1, max_size=5)


@effort(50, 2_000)
@given(batches, st.dictionaries(st.integers(0, 2), st.integers(0, 80)))
def test_what_was_missed_brings_a_whole_table_up_to_live(counts: list[dict[int, int]], so_far: dict[int, int]) -> None:
    """After replaying what is missed, staging has come as far as the commits, and nothing is behind any more."""
    commits, stands = [], {0: 0, 1: 0, 2: 0}
    for snapshot, batch in enumerate(counts, start=8):
        commits.append(live(snapshot, {p: (stands[p], stands[p] + count) for p, count in sorted(batch.items())}))
        stands.update({p: stands[p] + count for p, count in batch.items()})
    slices = missed(TABLE, commits, so_far)
    for partition, ranges in ranges_of(slices).items():
        assert ranges == ((so_far.get(partition, 0), stands[partition]),)
    after = reached(replace(TABLE, state=StartSnapshot(Head("3"), so_far)), [staged(s.id, s.offsets) for s in slices])
    assert not isinstance(classify_table_commits(commits, run="r1", reached=after), StagingBehind)
    was_behind = isinstance(classify_table_commits(commits, run="r1", reached=so_far), StagingBehind)
    assert was_behind is bool(slices)


@pytest.mark.parametrize("plan", [RANGE, TABLE])
def test_catching_up_again_names_the_slices_the_same(plan: Plan) -> None:
    """So that what is in staging already is not replayed again."""
    commits = [live(8, {0: (50, 60)})]
    assert missed(plan, commits, {0: 50}) == missed(plan, commits, {0: 50})
