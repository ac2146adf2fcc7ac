"""Applies the governor's law to a running replay: collects observations of live, decides at each tick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from anabranch.replay.allowance import STANDSTILL, Allowance
from anabranch.replay.governor import GRACE_TICKS, Decision, GovernorState, Law, Sight, begin, decide, document
from anabranch.replay.live_signals import LiveMonitor, LiveSignals
from anabranch.replay.pressure import ALONE_ENOUGH, Pressure, Targets, Tick, Watched, pressures

SOURCE = "governor"
STALE = "the signals of live"
RECHECK_TICKS, RECHECK_WAIT_TICKS = 36, 24
"""After how many ticks at the lowest rate, with live's latency or batches still over their target, the replay stops to
see what live is like without it; and for how many at most."""

STARTING = 2.0
"""Of the start rate: a replay that reads more in a tick does not start slowly."""


@dataclass
class Governor:
    """A RateSource. It decides when it is asked, at most once a tick."""

    law: Law
    targets: Targets
    monitor: LiveMonitor
    clock: Callable[[], float]
    """The clock of `LiveSignals.at`."""
    bytes_read: Callable[[], int]
    """By the replay so far."""
    watched: Watched = field(default_factory=Watched)
    observe_alone: float = 0.0
    """For how many seconds live is observed before the first slice, if there is no rehearsal to compare with."""
    stops: frozenset[str] = frozenset()
    """Broker metrics that let no slice begin while they are over their target."""

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._state: GovernorState | None = None
        self._allowance = Allowance(SOURCE, "live was not observed yet")
        self._began: float | None = None
        self._ticked: float | None = None
        self._seen: float | None = None
        self._latencies: list[float] = []
        self._batch: float | None = None
        self._errors = 0
        self._bytes = 0
        self._rates: tuple[float, ...] = ()
        self._was_idle = True
        self._in_vain = 0
        self._recheck_until: float | None = None
        self._lost: dict[str, float] = {}
        self._pressures: tuple[Pressure, ...] = ()

    def allowance(self) -> Allowance:
        with self._lock:
            now = self.clock()
            signals = self.monitor.read()
            self._collect(signals, now)
            if self._ticked is None or now - self._ticked >= self.law.tick:
                self._tick(signals, now)
                self._ticked = now
            return self._allowance

    def document(self) -> dict[str, Any]:
        """What was decided, and by which signals, for `status`, metrics and the record."""
        with self._lock:
            now, signals = self.clock(), self.monitor.read()
            return {
                "allows": self._allowance.bytes_per_second,
                "paused": self._allowance.paused,
                "reason": self._allowance.reason,
                "live": signals.live_words,
                "live_runs": signals.live_runs,
                "signals": [each.document() for each in self._pressures],
                "age_seconds": round(max(0.0, now - signals.at), 1),
                "lag_records": signals.lag_records,
                "lag_seconds": None if signals.lag_seconds is None else round(signals.lag_seconds, 3),
                "silent": dict(signals.silent),
                "baseline": self.watched.baseline.document(),
                **({} if self._state is None else document(self.law, self._state, now)),
            }

    def _collect(self, signals: LiveSignals, now: float) -> None:
        for name in signals.silent:
            self._lost.setdefault(name, now)
        self._lost = {name: since for name, since in self._lost.items() if name in signals.silent}
        if signals.at == self._seen:
            return
        self._seen = signals.at
        self._latencies += signals.latencies or ()
        self._errors += signals.errors or 0
        self._batch = signals.batch_ratio if signals.batch_ratio is not None else self._batch

    def _tick(self, signals: LiveSignals, now: float) -> None:
        idle = self._note_bytes(now)
        tick = self._take(signals, alone=idle and self._was_idle)
        self._was_idle = idle
        if not signals.live_runs:
            self._state, self._began, self._pressures = None, None, ()
            self._allowance = Allowance(SOURCE, signals.live_words)
            return
        self._began = now if self._began is None else self._began
        self.watched = self.watched.after(tick)
        self._pressures = pressures(self.watched, tick, self.targets)
        if self._state is None and self._observes_alone(now):
            words = f"live is observed without the replay for up to {self.observe_alone:.0f} s"
            self._allowance = Allowance(SOURCE, words, round(self.law.start), paused=True)
            return
        if self._state is None:
            self._state = begin(self.law, now)
        if self._rechecks(now):
            words = "live is slow at the lowest rate too, and is observed without the replay"
            self._allowance = Allowance(SOURCE, words, STANDSTILL, paused=True)
            return
        self._state, decision = decide(self.law, self._state, self._sight(signals, tick, now), now)
        self._note_in_vain(now)
        if decision.reduced:
            self.watched = self.watched.reduced()
        self._allowance = _allowance_of(decision)

    def _observes_alone(self, now: float) -> bool:
        if self._began is None or self.watched.rehearsed.latency is not None or now - self._began >= self.observe_alone:
            return False
        return self.watched.observed_alone < ALONE_ENOUGH

    def _rechecks(self, now: float) -> bool:
        """Whether no slice begins, so that the baseline is taken anew: one from another day would starve the replay."""
        if self._recheck_until is None:
            return False
        if now < self._recheck_until and self.watched.observed_alone < ALONE_ENOUGH:
            return True
        self._recheck_until = None
        self.watched = self.watched.reduced()
        worst = self._pressures[0] if self._pressures else None
        if self._state is not None and (worst is None or worst.ratio <= 1):
            # It was the baseline that was wrong, and not the rates.
            self._state = replace(self._state, bad=None)
        return False

    def _note_in_vain(self, now: float) -> None:
        worst = self._pressures[0] if self._pressures else None
        slow = worst is not None and worst.signal in ("latency", "batch") and worst.ratio > 1
        at_minimum = self._state is not None and self._state.rate <= self.law.minimum
        self._in_vain = self._in_vain + 1 if slow and at_minimum else 0
        if self._in_vain >= RECHECK_TICKS:
            self._in_vain, self._recheck_until = 0, now + RECHECK_WAIT_TICKS * self.law.tick
            self.watched = replace(self.watched, alone=())

    def _take(self, signals: LiveSignals, *, alone: bool) -> Tick:
        pressed = self._state is not None and self._state.pressed and self._recheck_until is None
        starting = self._state is None or (self._state.rate <= self.law.start and not pressed)
        # An exempted replay reads at any rate: what live is like then must not count as usual.
        starting = starting and self._rates[-1] <= STARTING * self.law.start
        tick = Tick(
            lag=signals.lag_seconds,
            lag_records=signals.lag_records,
            latencies=tuple(self._latencies),
            batch_ratio=self._batch,
            errors=self._errors,
            brokers=signals.brokers,
            alone=alone and not pressed,
            starting=starting,
        )
        self._latencies, self._batch, self._errors = [], None, 0
        return tick

    def _note_bytes(self, now: float) -> bool:
        """Whether the replay has read nothing since the tick before."""
        total = self.bytes_read()
        seconds = self.law.tick if self._ticked is None else max(0.001, now - self._ticked)
        since, self._bytes = max(0, total - self._bytes), max(total, self._bytes)
        self._rates = (*self._rates, since / seconds)[-3:]
        return since == 0

    def _sight(self, signals: LiveSignals, tick: Tick, now: float) -> Sight:
        lost = {name: now - since for name, since in self._lost.items()}
        if now - signals.at > self.law.tick:
            lost[STALE] = now - signals.at
        broken = [name for name in sorted(self.stops) if signals.brokers.get(name, 0.0) > 1.0]
        stop = f"broker metric {broken[0]} is over its target: no slice begins" if broken else ""
        undecided = self.watched.undecided(tick) or self._awaits_baseline(signals, now)
        return Sight(self._pressures, lost, max(self._rates, default=0.0), undecided, stop)

    def _awaits_baseline(self, signals: LiveSignals, now: float) -> bool:
        """Whether live's first commits are still awaited: above the start rate they are no baseline any more."""
        began = now if self._state is None else self._state.began
        waiting = signals.latencies is not None and bool(signals.lag_seconds)
        return waiting and self.watched.baseline.latency is None and now - began < GRACE_TICKS * self.law.tick


def _allowance_of(decision: Decision) -> Allowance:
    return Allowance(SOURCE, decision.reason, decision.bytes_per_second, decision.paused)


@dataclass(frozen=True)
class SwitchedOff:
    """A RateSource of a run whose contract or context switched the governor off: no limit, and why."""

    reason: str

    def allowance(self) -> Allowance:
        return Allowance(SOURCE, f"off: {self.reason}")

    def document(self) -> Mapping[str, Any]:
        return {"off": self.reason}
