"""The mean of paired differences with its 95 % interval, exact under symmetry, and what could have been found. Pure.

For differences that are symmetric about the effect, the effect lies between any two neighbours of the 2ⁿ − 1 ordered
means of their subsets with probability 2⁻ⁿ (Hartigan 1969): the interval is the set of effects that the test over all
2ⁿ sign assignments does not reject. No distribution is assumed and nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import floor, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Any

LEVEL, POWER = 0.95, 0.8
LEAST_PAIRS = 6
"""With fewer, the widest interval there is, from the smallest difference to the largest, covers less than 95 %."""
MOST_PAIRS = 18
"""All 2ⁿ sign assignments are enumerated."""


@dataclass(frozen=True)
class PairedEffect:
    pairs: int
    mean: float
    low: float | None
    high: float | None
    """The 95 % interval; None: too few pairs for one."""
    detectable: float | None
    """The smallest effect that as many pairs with this spread find four times of five; None: fewer than six pairs."""

    @property
    def is_found(self) -> bool:
        """Whether the interval excludes 0. Without an interval nothing is found, and nothing is excluded either."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    def document(self) -> dict[str, Any]:
        return asdict(self)


def paired_effect(differences: Sequence[float], resolution: float = 0.0) -> PairedEffect | None:
    """The effect by the differences with − without of each pair; None: there is no pair.

    `resolution` is the smallest effect that the measurement can show: no smaller one is said to be detectable.
    """
    count = len(differences)
    if count == 0:
        return None
    if count > MOST_PAIRS:
        raise ValueError(f"{count} pairs; at most {MOST_PAIRS} are enumerated")
    mean = fmean(differences)
    if count < LEAST_PAIRS:
        return PairedEffect(count, mean, None, None, None)
    low, high = interval(differences)
    return PairedEffect(count, mean, low, high, max(resolution, smallest_detectable(differences)))


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The ends of the 95 % interval: the k-th smallest and k-th largest subset mean, where 2k/2ⁿ is at most 5 %."""
    means = subset_means(differences)
    left_out = floor((1 - LEVEL) / 2 * 2 ** len(differences) + 1e-9)
    if left_out == 0:
        raise ValueError(f"{len(differences)} pairs give no {LEVEL:.0%} interval")
    return means[left_out - 1], means[-left_out]


def subset_means(differences: Sequence[float]) -> list[float]:
    """The means of all subsets but the empty one, in order. Each stands for a sign assignment."""
    sums, counts = [0.0], [0]
    for each in differences:
        sums += [whole + each for whole in sums]
        counts += [count + 1 for count in counts]
    return sorted(whole / count for whole, count in zip(sums[1:], counts[1:], strict=True))


def smallest_detectable(differences: Sequence[float]) -> float:
    """The effect that is found with 80 % probability by so many pairs with the spread of these."""
    freedom = len(differences) - 1
    quantiles = student(1 - (1 - LEVEL) / 2, freedom) + student(POWER, freedom)
    return quantiles * stdev(differences) / sqrt(len(differences))


def student(probability: float, freedom: int) -> float:
    """The quantile of Student's t, by the expansion of Cornish and Fisher: within 0.5 % from 5 degrees of freedom."""
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / (4 * freedom),
        (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2),
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3),
    )
    return sum(terms)
