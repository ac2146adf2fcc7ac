"""A stream-faithful plan: what it reads of each partition and how its slices lie (test_stream.py has the start)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.unit.plan.test_stream import DAMAGE, PER_BATCH, batches, kept, planned
from tests.unit.plan.world import World

from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.offsets.ranges import EndsBy
from anabranch.plan.slices import ranges_of


@pytest.mark.parametrize("cold", [False, True])
def test_all_from_the_start_to_the_batch_that_closes_the_last_window_is_read_once(world: World, cold: bool) -> None:
    found = planned(world, [] if cold else [kept(DAMAGE)], batches(world))
    [(start, end)] = found.plan.source.ranges[0]
    assert start == (0 if cold else DAMAGE)
    assert end % PER_BATCH == 0
    assert ranges_of(found.plan.slices) == {0: ((start, end),)}
    assert sum(each.width for each in found.plan.slices) == end - start
    assert found.estimates.offsets == end - start
    assert found.estimates.ends == {0: EndsBy.CLOSED}


@pytest.mark.parametrize(("cold", "proof"), [(False, Proof.SLACK), (True, Proof.WHOLE)])
def test_from_live_s_beginning_nothing_can_be_left_out(world: World, cold: bool, proof: Proof) -> None:
    found = planned(world, [] if cold else [kept(DAMAGE)], batches(world)).plan
    assert found.source.proof == {0: proof}


def test_the_slices_are_live_s_batches_in_order_and_none_is_cut(world: World) -> None:
    found = planned(world, [kept(DAMAGE)], batches(world)).plan
    spans = [each.offsets[0] for each in found.slices]
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    assert all(end % PER_BATCH == 0 for _, end in spans)
    closes = [each.closes for each in found.slices if each.closes is not None]
    assert len(closes) == len(found.slices)
    assert closes == sorted(closes)


def test_a_smaller_cap_gives_more_slices_of_the_same_offsets(world: World) -> None:
    few, many = (
        planned(world, [kept(DAMAGE)], batches(world), spec={"budget": {"windowsPerBatch": cap}}).plan
        for cap in (1000, 1)
    )
    assert len(many.slices) > len(few.slices)
    assert ranges_of(many.slices) == ranges_of(few.slices)


def test_what_came_after_the_last_window_had_closed_changes_nothing(world: World) -> None:
    """Live has dropped whatever of the range came later: its later batches are not replayed."""
    every = batches(world)
    found = planned(world, [kept(DAMAGE)], every).plan
    [(_, end)] = found.source.ranges[0]
    needed = [each for each in every if each.offsets[0][1] <= end]
    assert len(needed) < len(every)
    assert planned(world, [kept(DAMAGE)], needed).plan.slices == found.slices
