"""The interval by hand, how often it is wrong where there is no effect, and how often an effect is found."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import log
from random import Random
from statistics import fmean

import pytest

from anabranch.gates.impact.design import Block, Design
from anabranch.gates.impact.effect import (
    LEAST_PAIRS,
    MOST_PAIRS,
    PairedEffect,
    interval,
    paired_effect,
    smallest_detectable,
    student,
    subset_means,
)

SERIES = 2000
FALSE_ALARMS = 0.05 + 3 * (0.05 * 0.95 / SERIES) ** 0.5
"""Five of a hundred, and three standard errors of so many series."""


def test_subset_means_by_hand() -> None:
    assert subset_means([1.0, 3.0]) == [1.0, 2.0, 3.0]
    assert subset_means([0.0, 3.0, 6.0]) == [0.0, 1.5, 3.0, 3.0, 3.0, 4.5, 6.0]


def test_six_pairs_give_the_interval_from_the_smallest_to_the_largest() -> None:
    """2⁶ = 64 assignments, 2.5 % of them is 1.6: one subset mean is left out at each end, of which there are 63."""
    assert interval([5.0, 1.0, 2.0, 9.0, 4.0, 3.0]) == (1.0, 9.0)
    found = paired_effect([5.0, 1.0, 2.0, 9.0, 4.0, 3.0])
    assert found is not None
    assert (found.mean, found.is_found) == (4.0, True)


def test_eight_pairs_leave_out_six_subset_means_at_each_end() -> None:
    """2⁸ = 256, 2.5 % of them is 6.4: the ends are the sixth smallest and the sixth largest mean.

    Of 1, 2, 4, … 128 the smallest means are 1, {1,2} = 1.5, 2, {1,2,4} = 7/3, {1,4} = 2.5, {2,4} = 3; the largest are
    128, {64,128} = 96, {32,128} = 80, {32,64,128} = 74.67, {16,128} = 72, {16,64,128} = 69.33.
    """
    low, high = interval([float(2**power) for power in range(8)])
    assert low == 3.0
    assert high == pytest.approx(208 / 3)


@pytest.mark.parametrize("differences", [[0.3, -1.0, 2.0, 0.7, 0.1, 1.4, -0.2], [1.0, 2.5, 0.5, 3.0, 2.0, 1.5]])
def test_the_interval_is_what_the_test_over_all_signs_does_not_reject(differences: list[float]) -> None:
    """By brute force: an effect inside is compatible with the data in more than 5 % of assignments, one outside not."""
    low, high = interval(differences)

    def tail(effect: float, direction: int) -> float:
        centred = [direction * (each - effect) for each in differences]
        signs = list(product((1, -1), repeat=len(centred)))
        seen = sum(centred)
        as_far = sum(sum(s * each for s, each in zip(row, centred, strict=True)) >= seen - 1e-12 for row in signs)
        return as_far / len(signs)

    for inside in (low + 1e-6, (low + high) / 2, high - 1e-6):
        assert min(tail(inside, 1), tail(inside, -1)) > 0.025
    assert tail(low - 1e-6, 1) <= 0.025
    assert tail(high + 1e-6, -1) <= 0.025


def test_fewer_than_six_pairs_give_no_statement() -> None:
    assert paired_effect([]) is None
    for count in range(1, LEAST_PAIRS):
        found = paired_effect([7.0] * count)
        assert found is not None
        assert (found.mean, found.low, found.high, found.detectable) == (7.0, None, None, None)
        assert not found.is_found
        with pytest.raises(ValueError, match="give no 95% interval"):
            interval([7.0] * count)
    with pytest.raises(ValueError, match="at most"):
        paired_effect([1.0] * (MOST_PAIRS + 1))


def test_nothing_smaller_than_can_be_measured_is_said_to_be_detectable() -> None:
    found = paired_effect([0.0] * 12, resolution=0.2)
    assert found is not None
    assert (found.is_found, found.detectable) == (False, 0.2)


@pytest.mark.parametrize(
    ("probability", "freedom", "table"), [(0.975, 5, 2.571), (0.975, 11, 2.201), (0.8, 5, 0.920), (0.8, 11, 0.876)]
)
def test_students_quantiles_are_those_of_the_table(probability: float, freedom: int, table: float) -> None:
    assert student(probability, freedom) == pytest.approx(table, rel=0.005)


def test_the_smallest_detectable_effect_by_hand() -> None:
    """Standard deviation 1, 6 pairs: (2.571 + 0.920) / √6 = 1.425."""
    differences = [1.0, -1.0, 1.0, -1.0, (1 / 2) ** 0.5, -((1 / 2) ** 0.5)]
    assert smallest_detectable(differences) == pytest.approx(1.425, rel=0.01)


def live(random: Random, seconds: int, drift: float = 0.0) -> list[float]:
    """Logarithms of latencies, one a second: skewed, with a memory of about ten seconds, bursts, and a drift."""
    state, found = random.gauss(0, 0.4), []
    for second in range(seconds):
        state = 0.9 * state + random.gauss(0, 0.4 * (1 - 0.9**2) ** 0.5)
        burst = random.expovariate(2) if random.random() < 0.1 else 0.0
        found.append(log(2.0) + state + burst + drift * second)
    return found


def experiment(random: Random, design: Design, *, effect: float = 0.0, drift: float = 0.0) -> PairedEffect:
    latencies = live(random, int(design.seconds), drift)

    def block_mean(block: Block) -> float:
        inside = latencies[int(block.start + design.settle_seconds) : int(block.end)]
        return fmean(inside) + (effect if block.on else 0.0)

    both: dict[int, dict[bool, float]] = {}
    for each in design.blocks:
        both.setdefault(each.pair, {})[each.on] = block_mean(each)
    found = paired_effect([pair[True] - pair[False] for pair in both.values()])
    assert found is not None
    return found


def rate_of(count: int, found: Callable[[int], PairedEffect]) -> float:
    return sum(found(number).is_found for number in range(count)) / count


@pytest.mark.parametrize(("pairs", "drift"), [(12, 0.0), (8, 0.005), (6, 0.0)])
def test_where_the_replay_does_nothing_an_effect_is_found_in_five_of_a_hundred_at_most(
    pairs: int, drift: float
) -> None:
    random = Random(pairs)
    false = rate_of(SERIES, lambda number: experiment(random, Design(pairs, 20.0, 5.0, seed=number), drift=drift))
    assert false <= FALSE_ALARMS
    assert false >= 0.02, "the interval is no wider than it has to be"


def test_without_a_drawn_order_a_drift_of_live_would_be_taken_for_the_replay() -> None:
    """That the order is drawn is what the rate of false alarms rests on: with off first each time, drift is found."""

    class OffFirst(Design):
        @property
        def blocks(self) -> tuple[Block, ...]:
            return tuple(Block(n, (n + 1) // 2, n % 2 == 0, (n - 1) * 20.0, n * 20.0) for n in range(1, 17))

    random = Random(1)
    false = rate_of(200, lambda number: experiment(random, OffFirst(8, 20.0, 5.0, seed=number), drift=0.02))
    assert false > 3 * FALSE_ALARMS


def test_an_effect_of_the_detectable_size_is_found_four_times_of_five() -> None:
    """The size printed beside "no effect" is true: planted, it is found about as often as it says."""
    random, count = Random(5), 400
    calm = [experiment(random, Design(12, 20.0, 5.0, seed=number)).detectable for number in range(50)]
    size = fmean(each for each in calm if each is not None)
    power = rate_of(count, lambda number: experiment(random, Design(12, 20.0, 5.0, seed=number), effect=size))
    assert 0.7 <= power <= 0.9
    half = rate_of(count, lambda number: experiment(random, Design(12, 20.0, 5.0, seed=number), effect=size / 2))
    assert half < 0.5, "half of it is found far less often"


def test_the_interval_holds_a_planted_effect_nineteen_times_of_twenty() -> None:
    random, count, effect = Random(9), 500, 0.4
    missed = 0
    for number in range(count):
        found = experiment(random, Design(8, 20.0, 5.0, seed=number), effect=effect)
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= effect <= found.high
    assert missed / count <= 0.05 + 3 * (0.05 * 0.95 / count) ** 0.5
