"""Which slices are rehearsed: two sizes, no offset twice, from where the plan's class allows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.unit.plan.world import World, hourly

from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice, cut
from anabranch.plan.strategies.strategy import Strategy
from anabranch.readiness.rehearsal_slices import LARGE, UNITS, RehearsalSlices, rehearsal_slices


def planned(world: World, ranges: dict[int, tuple[tuple[int, int], ...]], size: int, strategy: Strategy) -> Plan:
    plan = world.plan([hourly(60)]).plan
    source = replace(plan.source, ranges=ranges)
    return replace(plan, source=source, slices=cut(ranges, size), strategy=strategy)


def replayed(found: RehearsalSlices) -> list[Slice]:
    return [*found.warm_up, *(slice_ for burst in found.bursts for slice_ in burst)]


def offsets(found: RehearsalSlices) -> Counter[tuple[int, int]]:
    pieces = {slice_.id: slice_ for slice_ in (*replayed(found), found.taken_apart)}.values()
    return Counter((p, each) for slice_ in pieces for p, ends in slice_.offsets.items() for each in range(*ends))


def test_slices_of_two_sizes_of_which_the_larger_is_the_plans(world: World) -> None:
    found = rehearsal_slices(planned(world, {0: ((0, 50_000),), 1: ((7, 50_007),)}, 4000, Strategy.REPLACE_RANGE))
    assert [slice_.width for slice_ in found.warm_up] == [1000]
    assert [[slice_.width for slice_ in burst] for burst in found.bursts] == [[1000] * 3, [LARGE * 1000] * 3]
    assert found.taken_apart.width == LARGE * 1000
    assert set(offsets(found).values()) == {1}
    assert min(each for _, each in offsets(found)) >= 20_000, "of the middle"


def test_a_table_merged_by_key_is_rehearsed_from_the_beginning(world: World) -> None:
    found = rehearsal_slices(planned(world, {0: ((5, 52_005),)}, 4000, Strategy.MERGE_FORWARD))
    assert found.warm_up[0].offsets == {0: (5, 1005)}
    assert set(offsets(found).values()) == {1}


@pytest.mark.parametrize("total", [1, 2, 3, 5, 7, 16, 19, 20, 60])
def test_a_small_range_is_rehearsed_as_far_as_it_goes(world: World, total: int) -> None:
    found = rehearsal_slices(planned(world, {0: ((0, total),)}, total, Strategy.REPLACE_RANGE))
    assert found.bursts
    assert all(found.bursts)
    assert set(offsets(found)) <= {(0, each) for each in range(total)}
    assert set(offsets(found).values()) == {1}


def test_a_low_byte_rate_shrinks_the_slices_and_not_their_number(world: World) -> None:
    plan = planned(world, {0: ((0, 100_000),)}, 4000, Strategy.REPLACE_RANGE)
    found = rehearsal_slices(plan, most=2 * UNITS)
    assert [[slice_.width for slice_ in burst] for burst in found.bursts] == [[2] * 3, [2 * LARGE] * 3]
    assert sum(slice_.width for slice_ in replayed(found)) <= 2 * UNITS


def test_ranges_with_gaps_give_pieces_that_lie_inside_them(world: World) -> None:
    gaps = tuple((start, start + 300) for start in range(0, 30_000, 1000))
    found = rehearsal_slices(planned(world, {0: gaps}, 2000, Strategy.REPLACE_RANGE))
    inside = {each for start, end in gaps for each in range(start, end)}
    assert {each for _, each in offsets(found)} <= inside
    assert set(offsets(found).values()) == {1}
