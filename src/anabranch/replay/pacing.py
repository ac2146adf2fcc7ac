"""Holds a replay to the lowest of all limits: asks every source, applies it to every brake, notes each change."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

from anabranch.replay.allowance import UNLIMITED, Allowance, RateSource, lowest
from anabranch.replay.allowance_words import notice_words
from anabranch.runs.run_lease import RunLease

CHANGED = "pace.changed"
"""The action under which a change of the allowance is recorded."""
NOTED_SECONDS = 5.0
"""How often what limits the replay now is written to the control database, besides at each change."""


class Brake(Protocol):
    """Slows reading down, also of a slice in flight: a client-side limit, or a quota at the brokers."""

    def apply(self, allowance: Allowance) -> None:
        """Hold reading to the allowance from now on. Called about once a second, from any thread; returns at once.

        Not called while reading stands still for a moment: the client's own limit does that, and a quota that was
        lowered for it would still hold when the moment is over.
        """


class Experiment(Protocol):
    """Switches a replay off and on to measure its effect on live. It never allows more than the limits do."""

    def shape(self, allowed: Allowance) -> Allowance:
        """What applies now, where the limits allow `allowed`. Called about once a second, from any thread; returns at
        once."""

    def note_read(self, step: str, bytes_: int) -> None:
        """How many bytes this process has read for the run, as seen by the steps of this name. About once a second."""


@dataclass
class ReadCount:
    """How many bytes a replay has read, as its writers count them, and how long brokers throttle its consumers."""

    bytes: int = 0
    throttled_ms: float = 0.0
    """As in `SliceProgress`, about a second ago."""

    def note(self, total: int) -> None:
        self.bytes = max(self.bytes, total)


@dataclass
class Pacing:
    """The sources of limits and the brakes of one replay, from its first slice to its end."""

    sources: Sequence[RateSource] = ()
    brakes: Sequence[Brake] = ()
    changed: Callable[[Allowance], None] = lambda _: None
    """Called with the first allowance, and with each that has another source, pause or rate than the one before."""
    experiment: Experiment | None = None
    noted: Callable[[Allowance], None] = lambda _: None
    """Called with the allowance at each change and every five seconds."""
    meter: ReadCount = field(default_factory=ReadCount)
    clock: Callable[[], float] = time.monotonic
    _applied: Allowance | None = None
    _last: Allowance | None = None
    """The last one that was noted."""
    _noted_at: float = -NOTED_SECONDS
    _lock: Lock = field(default_factory=Lock)
    _applying: Lock = field(default_factory=Lock)

    def heed(
        self,
        own: Allowance,
        hold: Callable[[Allowance], None] = lambda _: None,
        exempt: Collection[str] = (),
    ) -> Allowance:
        """`apply`, then `note`."""
        allowance = self.apply(own, hold, exempt)
        self.note()
        return allowance

    def apply(
        self,
        own: Allowance,
        hold: Callable[[Allowance], None] = lambda _: None,
        exempt: Collection[str] = (),
    ) -> Allowance:
        """The allowance that applies now: the lowest of all sources and `own`, which the contract and operators set.

        `hold` is called like a brake. Sources named in `exempt` don't count. An experiment that is going on lowers the
        limit further. Returns at once, whatever does not answer.
        """
        with self._applying:  # otherwise a thread could put an older, higher rate back
            asked = [source.allowance() for source in self.sources]
            allowance = lowest([own, *(each for each in asked if each.source not in exempt)])
            if self.experiment is not None:
                allowance = self.experiment.shape(allowance)
            hold(allowance)
            for brake in () if allowance.stands_still else self.brakes:
                brake.apply(allowance)
            self._applied = allowance
        return allowance

    def note(self) -> None:
        """Note what was last applied, if it is a change or due. May take as long as the control database does.

        A change that could not be noted is noted again by the next call: the limit itself holds already.
        """
        with self._lock:
            allowance = self._applied
            if allowance is None:
                return
            former, self._last = self._last, allowance
            is_new = former is None or _differs(former, allowance)
            is_due = is_new or self.clock() - self._noted_at >= NOTED_SECONDS
            self._noted_at = self.clock() if is_due else self._noted_at
        if is_new:
            try:
                self.changed(allowance)
            except BaseException:
                with self._lock:
                    self._last = None
                raise
        if is_due:
            self.noted(allowance)

    def note_read(self, step: str, bytes_: int) -> None:
        self.meter.note(bytes_)
        if self.experiment is not None:
            self.experiment.note_read(step, bytes_)


def record_change(lease: RunLease, notice: Callable[[str], object], allowance: Allowance) -> None:
    """Put a change of the allowance on record, and show it where it is not simply that nothing limits the replay."""
    if allowance != UNLIMITED:
        notice(notice_words(allowance))
    details = details_of(allowance)
    lease.writer.note_pace(lease.run_id, lease.epoch, details)
    lease.writer.record_act(CHANGED, actor=lease.actor, run_id=lease.run_id, details=details)


def note_pace(lease: RunLease, allowance: Allowance, more: Mapping[str, object]) -> None:
    """Replace what the control database has as the run's pace, with `more` by the name of what adds it."""
    lease.writer.note_pace(lease.run_id, lease.epoch, {**details_of(allowance), **more})


def details_of(allowance: Allowance) -> dict[str, Any]:
    return {
        "source": allowance.source,
        "reason": allowance.reason,
        "bytes_per_second": allowance.bytes_per_second,
        "paused": allowance.paused,
    }


def _differs(one: Allowance, other: Allowance) -> bool:
    """Whether a change is worth a note. The reason alone, whose values change every second, is not."""
    return (one.source, one.paused, one.bytes_per_second) != (other.source, other.paused, other.bytes_per_second)
