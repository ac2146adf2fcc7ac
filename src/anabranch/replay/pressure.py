"""How hard live is pressed: each signal over its target, against what live was like without the replay. Pure.

Latency and batch duration vary from batch to batch, and live that commits every N seconds has latencies of up to N. So
neither is judged by one value: of each tick the worst value counts, of the last three ticks with a commit the second
worst, and after a reduction only ticks that came later. A single slow batch is no alarm; two are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

FEW, ENOUGH = 3, 2
"""How many ticks latency and batch duration are judged by, at most and at least."""
ALONE, ALONE_ENOUGH, MANY = 24, 3, 5
"""How many ticks alone are remembered, how many a baseline needs, and from how many on the worst is left out."""
SLACK_SECONDS = 0.25
"""Latencies are known to about as much: a target is at least this far above what it was without the replay."""


@dataclass(frozen=True)
class Targets:
    """What live is held to. A pipeline's own limits come from `live` in its file."""

    lag: float = 10.0
    """Seconds; twice the 95th percentile without the replay where that is more."""
    lag_limit: float = 30.0
    """Seconds, from which the replay drops to its lowest rate; three times that percentile where that is more."""
    latency_ratio: float = 1.25
    """Of the latency without the replay."""
    batch_ratio: float = 0.8
    """Duration of a batch over its interval; 1.25 times that without the replay where that is more."""
    max_lag_records: int | None = None
    """The pipeline's limit."""
    max_latency: float | None = None
    """The pipeline's limit, in seconds."""


NEAR = 0.8
"""The target for a limit of the pipeline's, as a share of it."""


@dataclass(frozen=True)
class Pressure:
    signal: str
    """`lag`, `lag_records`, `latency`, `batch`, `errors`, or `broker NAME`."""
    value: float
    target: float
    unit: str = ""
    limit: float | None = None
    """From here on the pressure counts as above 2."""
    usual: float = 0.0
    """What it is without the replay, where the target is derived from it."""

    @property
    def ratio(self) -> float:
        """Up to the target by the distance from what is usual: live as it always is counts as no pressure."""
        if self.target <= 0:  # every value above it is as bad as can be
            ratio = 3.0 * (self.value > 0)
        elif self.usual < self.value < self.target:
            ratio = (self.value - self.usual) / (self.target - self.usual)
        else:
            ratio = self.value / self.target if self.value >= self.target else 0.0
        return max(ratio, 2.01) if self.limit is not None and self.value >= self.limit else ratio

    @property
    def words(self) -> str:
        """For people: "live lag 41 s, target 10 s"."""
        name = _NAMES.get(self.signal, self.signal)
        return f"{name} {_number(self.value)}{self.unit}, target {_number(self.target)}{self.unit}"

    def document(self) -> dict[str, Any]:
        return {
            "signal": self.signal,
            "value": round(self.value, 3),
            "target": round(self.target, 3),
            "pressure": round(self.ratio, 3),
        }


_NAMES = {
    "lag": "live lag",
    "lag_records": "live lag",
    "latency": "live latency",
    "batch": "duration of live's batches over their interval",
    "errors": "errors of live",
}


@dataclass(frozen=True)
class Tick:
    """What was observed since the tick before."""

    lag: float | None = None
    lag_records: int | None = None
    latencies: tuple[float, ...] = ()
    batch_ratio: float | None = None
    """Of a batch that ended since the tick before."""
    errors: int = 0
    brokers: Mapping[str, float] = field(default_factory=dict)
    alone: bool = False
    """Whether the replay read nothing, neither in this tick nor in the one before."""
    starting: bool = False
    """Whether it has read at its start rate only."""


@dataclass(frozen=True)
class Baseline:
    """Live without the replay; None: it was not observed so."""

    lag: float | None = None
    """95th percentile, in seconds."""
    latency: float | None = None
    """Second worst tick (the worst of fewer than five), in seconds."""
    batch_ratio: float | None = None
    source: str = ""

    def document(self) -> dict[str, Any]:
        return {"source": self.source, "lag": self.lag, "latency": self.latency, "batch": self.batch_ratio}


NO_BASELINE = Baseline()


@dataclass(frozen=True)
class Watched:
    """The ticks that count for the next judgement."""

    rehearsed: Baseline = NO_BASELINE
    """What a rehearsal of this contract measured of live without the replay."""
    latencies: tuple[float, ...] = ()
    """The worst of each tick with a commit, since the last reduction, newest last."""
    batches: tuple[float, ...] = ()
    alone: tuple[Tick, ...] = ()
    starting: tuple[Tick, ...] = ()
    was_reduced: bool = False

    def after(self, tick: Tick) -> Watched:
        now = self
        if tick.latencies:
            now = replace(now, latencies=(*now.latencies, max(tick.latencies))[-FEW:])
        if tick.batch_ratio is not None:
            now = replace(now, batches=(*now.batches, tick.batch_ratio)[-FEW:])
        if tick.alone:
            now = replace(now, alone=(*now.alone, tick)[-ALONE:])
        elif tick.starting and len(now.starting) < 2 * ALONE_ENOUGH:
            now = replace(now, starting=(*now.starting, tick))
        return now

    def reduced(self) -> Watched:
        """After the replay was slowed down: what was observed before says nothing about the new rate."""
        return replace(self, latencies=(), batches=(), was_reduced=True)

    def undecided(self, tick: Tick) -> bool:
        """Whether live has records to commit, and too few commits since the last reduction to judge its latency."""
        waiting = tick.lag is not None and tick.lag > 0
        return self.was_reduced and waiting and self.baseline.latency is not None and len(self.latencies) < ENOUGH

    @property
    def baseline(self) -> Baseline:
        """By ticks without the replay; else by the rehearsal; else by the first ticks, at the start rate.

        Never by ticks at a higher rate: a baseline that grows with the load would hide the harm.
        """
        found = []
        if self.observed_alone >= ALONE_ENOUGH:
            found.append(_baseline(self.alone, "live alone"))
        if self.rehearsed.latency is not None:
            found.append(self.rehearsed)
        if _with_latency(self.starting) >= ALONE_ENOUGH:
            found.append(_baseline(self.starting, "live at the replay's start rate"))
        return Baseline(
            next((each.lag for each in found if each.lag is not None), None),
            next((each.latency for each in found if each.latency is not None), None),
            next((each.batch_ratio for each in found if each.batch_ratio is not None), None),
            found[0].source if found else "",
        )

    @property
    def observed_alone(self) -> int:
        """Ticks with a commit in which the replay read nothing."""
        return _with_latency(self.alone)


def pressures(watched: Watched, tick: Tick, targets: Targets) -> tuple[Pressure, ...]:
    """Every signal that can be judged now, the highest pressure first."""
    found = [*_lags(watched.baseline, tick, targets), *_paces(watched, targets)]
    if tick.errors:
        found.append(Pressure("errors", tick.errors, 0))
    found += [Pressure(f"broker {name}", ratio, 1.0) for name, ratio in tick.brokers.items()]
    return tuple(sorted(found, key=lambda each: -each.ratio))


def _lags(baseline: Baseline, tick: Tick, targets: Targets) -> Iterable[Pressure]:
    usual = baseline.lag or 0.0
    limit = targets.max_latency or max(targets.lag_limit, 3 * usual)
    if tick.lag is not None:
        target = min(max(targets.lag, 2 * usual), NEAR * limit)
        yield Pressure("lag", tick.lag, target, " s", limit)
    if tick.lag_records is not None and targets.max_lag_records is not None:
        most = targets.max_lag_records
        yield Pressure("lag_records", tick.lag_records, NEAR * most, " records", most)


def _paces(watched: Watched, targets: Targets) -> Iterable[Pressure]:
    baseline, limit = watched.baseline, targets.max_latency
    latency, batch = _second(watched.latencies), _second(watched.batches)
    goals = [] if limit is None else [NEAR * limit]
    if baseline.latency is not None:
        goals.append(max(targets.latency_ratio * baseline.latency, baseline.latency + SLACK_SECONDS))
    if latency is not None and goals:
        yield Pressure("latency", latency, min(goals), " s", limit, baseline.latency or 0.0)
    usual = baseline.batch_ratio
    if batch is not None and usual is not None:
        yield Pressure("batch", batch, max(targets.batch_ratio, 1.25 * usual), usual=usual)


def _second(values: Sequence[float]) -> float | None:
    return sorted(values)[-2] if len(values) >= ENOUGH else None


def _with_latency(ticks: Iterable[Tick]) -> int:
    return sum(bool(each.latencies) for each in ticks)


def _baseline(ticks: Sequence[Tick], source: str) -> Baseline:
    lags = [each.lag for each in ticks if each.lag is not None]
    worst = [max(each.latencies) for each in ticks if each.latencies]
    batches = [each.batch_ratio for each in ticks if each.batch_ratio is not None]
    return Baseline(_percentile(lags, 0.95), _usual(worst), _usual(batches), source)


def _usual(values: Sequence[float]) -> float | None:
    if not values:
        return None
    return sorted(values)[-2] if len(values) >= MANY else max(values)


def _percentile(values: Sequence[float], share: float) -> float | None:
    """By nearest rank."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else None


def _number(value: float) -> str:
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}".rstrip("0").rstrip(".")
