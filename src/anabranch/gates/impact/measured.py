"""The result of an experiment: every block as it was measured, and the effect on live's latency and lag. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from math import exp, log, log1p
from typing import Any

from anabranch.gates.impact.design import Design, read_design
from anabranch.gates.impact.effect import LEAST_PAIRS, PairedEffect, paired_effect

KIND = "impact"
"""Kind of its evidence, bound as a rehearsal is; see `gates/binding.py`."""


@dataclass(frozen=True)
class MeasuredBlock:
    number: int
    pair: int
    on: bool
    seconds: float
    """Counted: without the beginning that is dropped."""
    latency: float | None
    """The geometric mean of the seconds from arrival to commit, of what arrived meanwhile; None: nothing arrived, or
    live's position is unknown."""
    latency_worst: float | None
    arrivals: int
    """Growths of a partition that were seen; each has one latency."""
    lag: float | None
    """The mean of live's lag in records; None: live's position is unknown."""
    lag_worst: int | None
    samples: int
    bytes: int
    """That the replay read meanwhile."""
    bytes_per_second: int | None
    """What the replay was held to in a block with it; None: no limit."""
    flaw: str | None = None
    """Why the block does not count; None: it does."""


@dataclass(frozen=True)
class Pair:
    with_replay: MeasuredBlock
    without: MeasuredBlock

    @property
    def flaw(self) -> str | None:
        return self.with_replay.flaw or self.without.flaw


@dataclass(frozen=True)
class Impact:
    design: Design
    blocks: tuple[MeasuredBlock, ...]
    source: str
    """`replay` or `rehearsal`."""
    sample_seconds: float
    """Between two looks at live: latencies are known to this much."""
    ended: str | None = None
    """Why it ended before its last block; None: it did not."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Those with both blocks, whether they count or not."""
        found: dict[int, dict[bool, MeasuredBlock]] = {}
        for each in self.blocks:
            found.setdefault(each.pair, {})[each.on] = each
        return tuple(Pair(both[True], both[False]) for _, both in sorted(found.items()) if len(both) == 2)

    @property
    def latency(self) -> PairedEffect | None:
        """On the logarithm of live's latency. None: there is no pair in which records arrived in both blocks."""
        off = self._without(lambda each: each.latency)
        resolution = log1p(self.sample_seconds / max(off)) if off and self._is_constant_latency() else 0.0
        return paired_effect([difference for _, difference in self.latency_differences()], resolution)

    @property
    def lag(self) -> PairedEffect | None:
        """On live's lag, in records. None: live's position is unknown."""
        return paired_effect([difference for _, difference in self.lag_differences()])

    def latency_differences(self) -> Iterator[tuple[Pair, float]]:
        for pair in self._counted():
            on, off = pair.with_replay.latency, pair.without.latency
            if on is not None and off is not None:
                yield pair, log(on) - log(off)

    def lag_differences(self) -> Iterator[tuple[Pair, float]]:
        for pair in self._counted():
            on, off = pair.with_replay.lag, pair.without.lag
            if on is not None and off is not None:
                yield pair, on - off

    @property
    def latency_without(self) -> float | None:
        """The worst latency of the blocks without the replay that count, in seconds."""
        return max(self._without(lambda each: each.latency_worst), default=None)

    @property
    def lag_without(self) -> float | None:
        return max(self._without(lambda each: each.lag_worst), default=None)

    @property
    def bytes_per_second(self) -> int | None:
        """The lowest rate that a counted block was held to; None: none was held to a rate."""
        rates = [pair.with_replay.bytes_per_second for pair in self._counted()]
        return min((rate for rate in rates if rate is not None), default=None)

    @property
    def bytes_read_per_second(self) -> float | None:
        """What the replay read in the counted blocks with it; None: there are none."""
        counted = [pair.with_replay for pair in self._counted()]
        seconds = sum(each.seconds for each in counted)
        return sum(each.bytes for each in counted) / seconds if seconds else None

    def _counted(self) -> Iterator[Pair]:
        return (pair for pair in self.pairs if pair.flaw is None)

    def _without(self, value: Callable[[MeasuredBlock], float | None]) -> list[float]:
        found = (value(pair.without) for pair in self._counted())
        return [each for each in found if each is not None]

    def _is_constant_latency(self) -> bool:
        """Whether every block has the same latency: then all that is known is that it is below what can be seen."""
        return len({difference for _, difference in self.latency_differences()}) <= 1

    def document(self) -> dict[str, Any]:
        """With the effects, for readers; they are computed again when it is read back."""
        latency, lag = self.latency, self.lag
        return {
            "design": self.design.document(),
            "blocks": [asdict(each) for each in self.blocks],
            "source": self.source,
            "sample_seconds": self.sample_seconds,
            "ended": self.ended,
            "latency": None if latency is None else {**latency.document(), "words": latency_words(self)},
            "lag": None if lag is None else {**lag.document(), "words": lag_words(self)},
            "latency_without": self.latency_without,
            "lag_without": self.lag_without,
            "bytes_per_second": self.bytes_per_second,
            "bytes_read_per_second": self.bytes_read_per_second,
        }


def read_impact(document: Mapping[str, Any]) -> Impact:
    """The reverse of `Impact.document`."""
    names = [each.name for each in fields(MeasuredBlock)]
    return Impact(
        read_design(document["design"]),
        tuple(MeasuredBlock(**{name: each[name] for name in names}) for each in document["blocks"]),
        document["source"],
        document["sample_seconds"],
        document["ended"],
    )


def latency_words(impact: Impact) -> str:
    """One sentence: "Live latency × 1.35 with the replay (95 %: × 1.12 to × 1.62; 12 pairs)."."""
    effect = impact.latency
    if effect is None:
        return "Effect on live latency unknown: no pair has arrivals in both of its blocks."
    return _words(effect, "live latency", lambda value: f"× {exp(value):.2f}")


def lag_words(impact: Impact) -> str:
    """One sentence: "Live lag +120 records with the replay (95 %: -30 to +270 records; 12 pairs)."."""
    effect = impact.lag
    if effect is None:
        return "Effect on live lag unknown: no pair has live's position in both of its blocks."
    return _words(effect, "live lag", lambda value: f"{value:+,.0f}", " records")


def _words(effect: PairedEffect, what: str, shown: Callable[[float], str], unit: str = "") -> str:
    pairs = f"{effect.pairs} pair{'s' if effect.pairs != 1 else ''}"
    if effect.low is None or effect.high is None:
        return f"No 95 % statement on {what}: {pairs} count, {LEAST_PAIRS} are needed. {_seen(effect, shown)}{unit}."
    between = f"95 %: {shown(effect.low)} to {shown(effect.high)}{unit}; {pairs}"
    if effect.is_found:
        return f"{what.capitalize()} {shown(effect.mean)}{unit} with the replay ({between})."
    smallest = "" if effect.detectable is None else f" Smallest detectable effect: {shown(effect.detectable)}{unit}."
    return f"No effect on {what} found: {shown(effect.mean)}{unit} ({between}).{smallest}"


def _seen(effect: PairedEffect, shown: Callable[[float], str]) -> str:
    return f"Their mean is {shown(effect.mean)}"
