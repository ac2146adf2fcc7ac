"""The position of staging, and the slices that replay what live has committed since. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from anabranch.plan.plan import Plan
from anabranch.plan.slices import OFFSETS_PER_SLICE, Slice, cut
from anabranch.promote.history import Commit
from anabranch.replay.ledger import CATCH_UP
from anabranch.replay.staging import StagedSlice


def reached(plan: Plan, staged: Iterable[StagedSlice]) -> dict[int, int]:
    """The end offset of staging by partition, where the whole table is replayed."""
    found = {} if plan.state is None else dict(plan.state.position)
    for each in staged:
        for partition, (_, end) in each.offsets.items():
            found[partition] = max(end, found.get(partition, 0))
    return found


def missed(plan: Plan, commits: Sequence[Commit], so_far: Mapping[int, int]) -> tuple[Slice, ...]:
    """The slices for these commits of live: one for each, or one for all where the whole table is replayed.

    One merge for all makes each round shorter than the one before, even if live commits often.
    """
    if not plan.strategy.whole_table:
        return tuple(Slice(f"{CATCH_UP}{commit.snapshot}", commit.offsets) for commit in commits)
    ends = {partition: end for commit in commits for partition, (_, end) in commit.offsets.items()}
    ranges = {p: ((so_far.get(p, 0), end),) for p, end in sorted(ends.items()) if so_far.get(p, 0) < end}
    pieces = cut(ranges, OFFSETS_PER_SLICE)
    return tuple(Slice(f"{CATCH_UP}{commits[-1].snapshot}-{slice_.id}", slice_.offsets) for slice_ in pieces)
