"""Keeps a replay ahead of retention: before each slice it orders what is left, and extends retention if it must."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from typing import Protocol

from anabranch.errors import AnabranchError
from anabranch.plan.retention.decision import Options, RaceAnswer, RaceDecision, decide
from anabranch.plan.retention.facts import RetentionFacts, RetentionObserver
from anabranch.plan.retention.rate import ReplayRate, observed_rate
from anabranch.plan.slices import Slice
from anabranch.replay.retention_extension import RetentionExtension, without_extensions
from anabranch.replay.retention_share import NoShare, ShareControl
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease

DECIDED = "retention.race"
"""The action under which a change of the decision is recorded."""
CHECK_SECONDS = 15.0
"""A check takes a few requests to the brokers, so that short slices do not each wait for one."""
UNLIMITED_SECONDS = 60.0
"""The same while no limit deletes anything: only the settings are read."""


class SliceOrder(Protocol):
    """Orders the slices that are left. Asked before each slice, and while a replay is paused."""

    def __call__(self, remaining: Sequence[Slice]) -> Sequence[Slice]:
        """The same slices in the order in which they are to be read."""

    def slice_begins(self) -> None:
        """A slice is read from now on; not while the run waits for its turn."""

    def slice_done(self, slice_: Slice) -> None:
        """A slice was committed."""


class PlanOrder:
    """The plan's order, whatever expires."""

    def __call__(self, remaining: Sequence[Slice]) -> Sequence[Slice]:
        return remaining

    def slice_begins(self) -> None: ...

    def slice_done(self, slice_: Slice) -> None: ...


@dataclass
class RetentionGuard:
    """A `SliceOrder` by the race against retention."""

    lease: RunLease
    observer: RetentionObserver
    options: Callable[[], Options]
    extension: RetentionExtension
    rate: ReplayRate | None
    """As planned; the replay's own counts once a slice is done."""
    notice: Callable[[str], object]
    clock: Callable[[], float]
    share: ShareControl = field(default_factory=NoShare)
    variants: int = 1
    """How often each slice is replayed: twice with a control."""
    _offsets: int = 0
    _slices: int = 0
    _began: float | None = None
    _checked: float = field(default=-inf)
    _pause: float = CHECK_SECONDS
    _last: RaceDecision | None = None
    _refused: str | None = None

    def __call__(self, remaining: Sequence[Slice]) -> Sequence[Slice]:
        if self.clock() - self._checked >= self._pause:
            self._check(remaining)
        if self._last is None or self._last.answer is RaceAnswer.ENOUGH_TIME:
            return remaining
        place = {slice_.id: number for number, slice_ in enumerate(self._last.order)}
        return sorted(remaining, key=lambda each: place.get(each.id, len(place)))

    def slice_begins(self) -> None:
        self._began = self.clock() if self._began is None else self._began

    def slice_done(self, slice_: Slice) -> None:
        """The rate counts waits between slices, and not the wait for the first one, which may be that of a queue."""
        elapsed = 0.0 if self._began is None else self.clock() - self._began
        self._offsets += slice_.width
        self._slices += 1
        offsets, slices = self._offsets // self.variants, self._slices // self.variants
        self.rate = observed_rate(offsets, elapsed, slices) or self.rate

    def _check(self, remaining: Sequence[Slice]) -> None:
        try:
            measured = self.observer.measure(remaining)
        except AnabranchError:
            # What does not answer is reported by the slice that needs it; the order stays, and the note ages.
            self._checked, self._pause = self.clock(), CHECK_SECONDS
            return
        facts = without_extensions(measured, self.extension.open_extensions())
        settings = facts.settings
        unlimited = settings is not None and settings.retention_ms is None and settings.retention_bytes is None
        decision, shared = self._decide(remaining, facts)
        if shared and decision.answer not in (RaceAnswer.ENOUGH_TIME, RaceAnswer.SOONEST_FIRST):
            self.share.take()
        if decision.answer is RaceAnswer.EXTENSION:
            decision = self._extended(decision, remaining, facts)
        self._note(decision)
        self._last = decision
        self._checked, self._pause = self.clock(), UNLIMITED_SECONDS if unlimited else CHECK_SECONDS

    def _decide(self, remaining: Sequence[Slice], facts: RetentionFacts) -> tuple[RaceDecision, bool]:
        """The decision, and whether a greater share was among its options."""
        options, rate = self._permitted(), self.rate
        if rate is None:
            return decide(remaining, None, facts, options, None), False
        options = replace(options, share=self.share.offer(rate.seconds))
        return decide(remaining, rate.seconds, facts, options, rate.words), options.share is not None

    def _permitted(self) -> Options:
        options = self.options()
        if self._refused is None or options.extension is None:
            return options
        return replace(options, extension=replace(options.extension, withheld=self._refused))

    def _extended(self, decision: RaceDecision, remaining: Sequence[Slice], facts: RetentionFacts) -> RaceDecision:
        """The decision once retention is extended; the one without, if the cluster refuses."""
        to_ms = decision.extend_to_ms
        if to_ms is None:
            return decision
        try:
            self.extension.hold(to_ms)
        except SupersededError:
            raise
        except AnabranchError as error:
            self._refused = error.what
            return self._decide(remaining, facts)[0]
        return decision

    def _note(self, decision: RaceDecision) -> None:
        """Store it for `status` and metrics. A change of the answer is audited and shown, but not that all is well."""
        document = {**decision.document(), "reading": True}
        self.lease.writer.note_retention_race(self.lease.run_id, self.lease.epoch, document)
        before = None if self._last is None else self._last.answer
        if decision.answer is before:
            return
        if before is not None or decision.answer is not RaceAnswer.ENOUGH_TIME:
            details = {"answer": decision.answer.value, "steps": list(decision.steps)}
            self.lease.writer.record_act(DECIDED, actor=self.lease.actor, run_id=self.lease.run_id, details=details)
            self.notice(words_of(decision, self.lease.run_id))

    def end(self) -> None:
        """Restore what was extended, and note that nothing is read any more. Idempotent."""
        self.share.give_back()
        self.extension.restore()
        if self._last is not None:
            document = {**self._last.document(), "reading": False}
            self.lease.writer.note_retention_race(self.lease.run_id, self.lease.epoch, document)


@contextmanager
def guarding(guard: RetentionGuard) -> Iterator[SliceOrder]:
    """The guard of one replay. However the replay ends, an extension is restored, except under a newer epoch, whose
    process has taken it over."""
    try:
        yield guard
    finally:
        try:
            guard.end()
        except SupersededError:
            pass
        except AnabranchError as error:
            guard.notice(f"{error.what} The next command restores retention.ms, or `anabranch retention sweep`.")


def words_of(decision: RaceDecision, run: str) -> str:
    """One line for people: what is decided, with values, and for a lost race what expires and what to do."""
    match decision.answer:
        case RaceAnswer.ENOUGH_TIME:
            return f"retention: enough time again, {decision.words}"
        case RaceAnswer.LOST:
            losing = "; ".join(
                f"partition {each.partition} from offset {each.offset}" for each in decision.race if each.is_lost
            )
            return (
                f"retention: the race is being lost: {decision.words}. Expiring: {losing}. The replay continues; raise "
                f"retention.ms of the topic now, or lift a limit: `anabranch throttle {run} --rate none`"
            )
        case _:
            return f"retention: {decision.answer.value}: {decision.words}"
