"""What a replay does to live, as one self-contained HTML page: every pair, the effect and its interval.

The geometry is computed here; `templates/impact.html` draws it as inline SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

from anabranch.gates.evidence import Evidence
from anabranch.gates.impact.effect import LEAST_PAIRS, PairedEffect
from anabranch.gates.impact.measured import Impact, MeasuredBlock, lag_words, latency_words, read_impact
from anabranch.pages.environment import render
from anabranch.project.quantities import format_rate

LEFT, RIGHT, TOP, BOTTOM = 64.0, 700.0, 12.0, 196.0
"""Of the plot of pairs, in the units of its view box."""
SCALE_LEFT, SCALE_RIGHT = 40.0, 680.0
"""Of the plot of the interval."""


class Mark(NamedTuple):
    at: float
    words: str


@dataclass(frozen=True)
class PairMark:
    x: float
    on: float
    off: float
    """Heights of the blocks with and without the replay."""
    x_on: float
    x_off: float
    """In the order in which they came."""
    counts: bool
    words: str


@dataclass(frozen=True)
class PairsChart:
    name: str
    title: str
    words: str
    pairs: Sequence[PairMark]
    scale: Sequence[Mark]
    numbers: Sequence[Mark]


@dataclass(frozen=True)
class IntervalChart:
    name: str
    words: str
    low: float | None
    high: float | None
    mean: float
    none: float
    """Where no effect is."""
    detectable: tuple[float, float] | None
    """From one to the other, no effect could have been found."""
    scale: Sequence[Mark]


def render_impact(evidence: Evidence, subject: str) -> str:
    impact = read_impact(evidence.found)
    kind, title = _verdict(impact)
    return render(
        "impact.html",
        impact=impact,
        subject=subject,
        evidence=evidence,
        kind=kind,
        title=title,
        sentences=(latency_words(impact), lag_words(impact)),
        tiles=_tiles(impact),
        latency=pairs_chart(impact, "latency", "Live latency, seconds", lambda each: each.latency, logarithmic=True),
        latency_interval=None
        if impact.latency is None
        else interval_chart("latency", impact.latency, latency_words(impact), lambda value: f"× {exp(value):.2f}"),
        lag=pairs_chart(impact, "lag", "Live lag, records", lambda each: each.lag, logarithmic=False),
        lag_interval=None
        if impact.lag is None
        else interval_chart("lag", impact.lag, lag_words(impact), lambda value: f"{value:+,.0f}"),
    )


def _verdict(impact: Impact) -> tuple[str, str]:
    effects = [each for each in (impact.latency, impact.lag) if each is not None]
    worse = [each for each in effects if each.is_found and each.mean > 0]
    if worse:
        return "rejected", "The replay slows live down"
    if not effects or any(each.low is None for each in effects):
        counted = sum(pair.flaw is None for pair in impact.pairs)
        return "waiting", f"No 95 % statement: {counted} pairs count, {LEAST_PAIRS} are needed"
    return "accepted", "No harm to live found"


def _tiles(impact: Impact) -> list[tuple[str, str]]:
    rate = impact.bytes_read_per_second
    ratio = None if impact.latency is None else exp(impact.latency.mean)
    return [
        ("unknown" if ratio is None else f"× {ratio:.2f}", "live latency with the replay"),
        ("unknown" if impact.lag is None else f"{impact.lag.mean:+,.0f}", "records of live lag with the replay"),
        (f"{sum(pair.flaw is None for pair in impact.pairs)} of {impact.design.pairs}", "pairs that count"),
        ("unknown" if rate is None else f"{format_rate(rate)}", "read by the replay while it was on"),
    ]


def pairs_chart(
    impact: Impact,
    name: str,
    title: str,
    value: Callable[[MeasuredBlock], float | None],
    *,
    logarithmic: bool,
) -> PairsChart | None:
    """A line for each pair from its first block to its second; None: there is no pair with both values."""
    found = [(p, value(p.with_replay), value(p.without)) for p in impact.pairs]
    drawn = [(p, on, off) for p, on, off in found if on is not None and off is not None]
    if not drawn:
        return None
    every = [each for _, on, off in drawn for each in (on, off)]
    marks = _ratio_marks(min(every), max(every)) if logarithmic else _marks(0.0, max(1.0, *every))
    place = log if logarithmic else float
    low, high = place(marks[0]), place(marks[-1])

    def height(amount: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (place(amount) - low) / (high - low)

    width = (RIGHT - LEFT) / impact.design.pairs
    pairs = []
    for pair, on, off in drawn:
        x = LEFT + width * (pair.with_replay.pair - 0.5)
        shift = width * 0.22 * (1 if pair.with_replay.number > pair.without.number else -1)
        words = f"Pair {pair.with_replay.pair}: {_number(on)} with the replay, {_number(off)} without"
        words += f"; does not count: {pair.flaw}" if pair.flaw else ""
        pairs.append(PairMark(x, height(on), height(off), x + shift, x - shift, pair.flaw is None, words))
    return PairsChart(
        name,
        title,
        f"{title} in {len(drawn)} pairs of blocks with and without the replay.",
        pairs,
        [Mark(height(each), _number(each)) for each in marks],
        [Mark(each.x, str(pair.with_replay.pair)) for each, (pair, _, _) in zip(pairs, drawn, strict=True)],
    )


def interval_chart(name: str, effect: PairedEffect, words: str, shown: Callable[[float], str]) -> IntervalChart:
    """The effect on a line, with its interval, and the range in which nothing could have been found."""
    values = [effect.mean, 0.0]
    values += [each for each in (effect.low, effect.high) if each is not None]
    if effect.detectable is not None and not effect.is_found:
        values += [effect.detectable, -effect.detectable]
    reach = 1.15 * max(max(abs(each) for each in values), 1e-9)

    def at(value: float) -> float:
        return (SCALE_LEFT + SCALE_RIGHT) / 2 + (SCALE_RIGHT - SCALE_LEFT) / 2 * value / reach

    ends = effect.low is not None and effect.high is not None
    blind = None
    if effect.detectable is not None and not effect.is_found:
        blind = (at(-effect.detectable), at(effect.detectable))
    return IntervalChart(
        name,
        words,
        at(effect.low) if ends and effect.low is not None else None,
        at(effect.high) if ends and effect.high is not None else None,
        at(effect.mean),
        at(0.0),
        blind,
        [Mark(at(each), shown(each)) for each in (-reach / 1.15, -reach / 2.3, 0.0, reach / 2.3, reach / 1.15)],
    )


def _marks(low: float, high: float) -> list[float]:
    """Four or five numbers that read well, around both."""
    step = 1.0
    while (high - low) / step > 5:
        step *= 2.5 if str(step)[0] == "2" else 2
    marks = [low]
    while marks[-1] < high:
        marks.append(marks[-1] + step)
    return marks


def _ratio_marks(low: float, high: float) -> list[float]:
    """Powers of two around both."""
    first = 1.0
    while first > low:
        first /= 2
    while first * 2 <= low:
        first *= 2
    marks = [first, first * 2]
    while marks[-1] < high:
        marks.append(marks[-1] * 2)
    return marks


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
