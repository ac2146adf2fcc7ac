"""Replays a plan into staging, slice by slice: each is one commit, and what is in the table is not done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import count
from typing import Protocol, TypeVar

from anabranch.errors import AnabranchError
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.plan.steps import SliceStep
from anabranch.replay.allowance import Allowance
from anabranch.replay.allowance_words import hold_words
from anabranch.replay.controls import ControlRecords, Controls, read_controls
from anabranch.replay.pacing import Pacing
from anabranch.replay.polling import polled
from anabranch.replay.retention_guard import PlanOrder, SliceOrder
from anabranch.replay.service_watch import OutageError, ServiceWatch, no_services
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import StagedSlice, Staging, StagingTarget
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State

T = TypeVar("T")

POLL_SECONDS = 1.0
AHEAD = 2
"""How many slices are prefetched: while one is committed, the next has all cores, and one more those that are left.
A kill costs what was prefetched, so there are no more of them."""


class ReplayEnd(str, Enum):
    """How a replay ended."""

    STAGED = "staged"
    PAUSED = "paused"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class SliceDone:
    """What one slice came to: what became of every offset, by partition, committed together with the rows."""

    head: Head
    ledger: SliceLedger


class SlicePhase(str, Enum):
    """What is being done with a slice."""

    READ = "reading"
    WRITE = "writing"
    COMMIT = "committing"


@dataclass(frozen=True)
class SliceProgress:
    """How far a slice is: records read, of those planned. With transactions or compaction there may be fewer."""

    step: SlicePhase
    read: int
    planned: int
    bytes: int
    """Of all records that this process has read for the run."""
    throttled_ms: float = 0.0
    """The longest that brokers throttled one of the run's fetches within about a minute; 0: none was seen."""


class SliceWriter(Protocol):
    def limit(self, bytes_per_second: int | None) -> None:
        """Limit all reading from now on, of slices that are being read too. Called from any thread."""

    def progress(self, slice_: Slice) -> SliceProgress:
        """How far the slice is now. Called from any thread."""

    def prepare(self, slice_: Slice) -> None:
        """Put together what this slice has in common with all others, if it is anything. Nothing is read."""

    def prefetch(self, slice_: Slice) -> None:
        """Read and transform the slice before its turn, if the writer can. Commits nothing. Called in slice order."""

    def await_read(self, slice_: Slice) -> None:
        """Return when the slice, if prefetched, needs only its commit or has failed; `write` raises the error."""

    def discard_prefetched(self) -> None:
        """Drop every slice that was prefetched and not written. Nothing is read for it when this returns."""

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        """Read the slice's offsets, transform, and commit rows and ledger to the staging branch in one commit."""


class Guard(Protocol):
    def check(self) -> None:
        """Raise if what the plan pinned has changed: topic, offsets still there, code, schema.

        Asked before each slice and after the last one: whatever happens during a slice is found before the next.
        """


class RunObserver(Protocol):
    """Whoever shows progress. Called from any thread."""

    def phase(self, words: str) -> None:
        """What is going on outside a slice: starting Spark, loading the transform."""

    def remaining(self, slices: Sequence[Slice]) -> None:
        """The slices that are not in staging yet, one by one as they will be replayed. Before the first of them."""

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:
        """How far the slice at hand is. About once a second."""

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None: ...

    def resting(self, seconds: float, reason: str) -> None: ...

    def notice(self, words: str) -> None:
        """Show a line that is not progress: a service that does not answer, or answers again. Called by any thread."""

    def interrupted(self) -> bool:
        """Whether the user has asked to stop (Ctrl-C): the slice at hand is finished, then the run is paused."""


@dataclass(frozen=True)
class Clock:
    """Time, passed in."""

    now: Callable[[], float]
    sleep: Callable[[float], None]


@dataclass(frozen=True)
class ReplayVariant:
    """One version of the code on its way into a staging of its own."""

    step: str
    """The name of its steps, in the plan's list and in the journal."""
    staging: Staging
    writer: SliceWriter


@dataclass(frozen=True)
class Replayer:
    lease: RunLease
    plan: Plan
    target: StagingTarget
    variants: tuple[ReplayVariant, ...]
    guard: Guard
    watch: RunObserver
    clock: Clock
    bytes_per_second: int | None
    limits: Callable[[], ReplayEnd | None] = lambda: None
    """Asked before each slice: how to end, if the contract's deadline or budget says so."""
    services: ServiceWatch = field(default_factory=no_services)
    """Kafka, the catalog and the control database, watched while slices are replayed."""
    pacing: Pacing = field(default_factory=Pacing)
    """The limits besides those of the contract and the operators, and the brakes besides the writers' own."""
    order: SliceOrder = field(default_factory=PlanOrder)
    """Asked before each slice which of those that are left goes next."""
    _requests: ControlRecords = field(default_factory=ControlRecords)
    """What operators asked for."""

    def __call__(self, steps: Sequence[SliceStep]) -> ReplayEnd:
        """Execute `steps` in order, except those whose slice is in its staging branch already.

        An error leaves the run failed and resumable.
        """
        self._begin()
        try:
            # Beside everything that may wait for a service: slices that were prefetched are read all the time.
            with self.services, polled(self._hold, POLL_SECONDS):
                remaining = self._through_outages(lambda _attempt: list(self._remaining(steps)))
                self._through_outages(lambda _attempt: self._heed_rate())
                self.watch.remaining([slice_ for _, slice_ in remaining])
                while remaining:
                    remaining = self._through_outages(partial(self._ordered, remaining))
                    (variant, slice_), *following = remaining
                    end = self._through_outages(partial(self._next, variant, slice_, following))
                    if end is not None:
                        return end
                    remaining = following
                    self.order.slice_done(slice_)
                self._through_outages(lambda _attempt: self.guard.check())
        except OutageError as outage:
            self._pause(outage)
            raise
        except AnabranchError as error:
            self.lease.check_epoch()
            self.lease.fail(error)
            raise
        finally:
            # It waits for what is being read, which would last for ever at the rate of a standstill that is over.
            with polled(self._hold, POLL_SECONDS):
                self._discard_prefetched()
        self.lease.transition(Event.STAGE)
        return ReplayEnd.STAGED

    def _through_outages(self, act: Callable[[int], T]) -> T:
        """Perform `act`, and again where it failed and a service was silent meanwhile, once all of them answer.

        It is given the number of the attempt. OutageError when a service is silent for too long.
        """
        for attempt in count(1):
            mark = self.services.mark()
            try:
                return act(attempt)
            except SupersededError:
                raise
            except AnabranchError:
                if not self.services.silent_since(mark):
                    raise
            self._discard_prefetched()
            self.services.await_answers(self.lease.run_id)
        raise AssertionError("attempts do not end")

    def _ordered(
        self, remaining: Sequence[tuple[ReplayVariant, Slice]], _attempt: int
    ) -> list[tuple[ReplayVariant, Slice]]:
        """What is left, in the order in which it is read; the variants of a slice stay together.

        What was prefetched for another order is discarded: it may expire last.
        """
        slices = list({slice_.id: slice_ for _, slice_ in remaining}.values())
        place = {slice_.id: number for number, slice_ in enumerate(self.order(slices))}
        ordered = sorted(remaining, key=lambda each: place[each[1].id])
        if [slice_.id for _, slice_ in ordered] != [slice_.id for _, slice_ in remaining]:
            self._discard_prefetched()
        return ordered

    def _next(
        self, variant: ReplayVariant, slice_: Slice, left: Sequence[tuple[ReplayVariant, Slice]], attempt: int
    ) -> ReplayEnd | None:
        """One slice, or how to end instead of it. `left` are those after it."""
        end = self._obey([slice_, *(each for _, each in left)]) or self.limits()
        if end is not None:
            return end
        if attempt == 1 or slice_.id not in self._settled(variant):
            self.guard.check()
            with polled(self._ask, POLL_SECONDS), polled(partial(self._look, variant, slice_), POLL_SECONDS):
                self._one(variant, slice_, left[:AHEAD], attempt)
        return None

    def _pause(self, outage: OutageError) -> None:
        with suppress(AnabranchError):  # where the control database is the silent one, the run stays as it is on record
            if self.lease.run.state is State.REPLAYING:
                self.lease.transition(Event.PAUSE, outage.on_record)

    def _begin(self) -> None:
        """Into the state replaying, from wherever a replay may begin or go on."""
        begin = {
            State.PLANNED: Event.START,
            State.PAUSED: Event.RESUME,
            State.FAILED: Event.RETRY,
            State.STAGED: Event.CATCH_UP,
            State.REJECTED: Event.CATCH_UP,
            State.VALIDATED: Event.CATCH_UP,
            State.ROLLED_BACK: Event.CATCH_UP,
        }.get(self.lease.run.state)
        if begin is not None:
            self.lease.transition(begin)

    def _remaining(self, steps: Sequence[SliceStep]) -> Iterator[tuple[ReplayVariant, Slice]]:
        variants = {variant.step: variant for variant in self.variants}
        staged = {variant.step: self._settled(variant) for variant in self.variants}
        return ((variants[step.name], step.slice) for step in steps if step.slice.id not in staged[step.name])

    def _settled(self, variant: ReplayVariant) -> Mapping[str, StagedSlice]:
        """The variant's slices that are in the table, and on record so."""
        staged_now = self.target.staged_slices(variant.staging.name, self.plan.staging_base)
        there = {staged.slice_id: staged for staged in staged_now}
        for entry in self.lease.reader.open_intents(self.lease.run_id):
            if entry.step == variant.step:
                # The process ended between the commit and its record, or before the commit: the table knows.
                landed = there.get(str(entry.details["slice"]))
                if landed is None:
                    self.lease.record_outcome(entry, Outcome.FAILED, {"what": "not found in staging"})
                else:
                    details = {"snapshot": landed.head, "ledger": landed.ledger.document()}
                    self.lease.record_outcome(entry, Outcome.SUCCEEDED, details)
        return there

    def _one(
        self, variant: ReplayVariant, slice_: Slice, following: Sequence[tuple[ReplayVariant, Slice]], attempt: int
    ) -> None:
        again = (f"attempt-{attempt}",) if attempt > 1 else ()
        intent = "/".join((variant.staging.of, slice_.id, f"e{self.lease.epoch}", *again))
        mark = self.services.mark()
        entry = self.lease.record_intent(variant.step, {"slice": slice_.id}, intent=intent)
        started = self.clock.now()
        self.order.slice_begins()
        try:
            self._prefetch(variant, slice_, following)
            done = variant.writer.write(slice_, variant.staging)
        except AnabranchError as error:
            if self.services.silent_since(mark):
                raise  # the intent stays open: once the services answer, the table shows what became of it
            self.lease.record_outcome(entry, Outcome.FAILED, {"code": error.code, "what": error.what})
            # A read fails when retention overtakes it or its topic goes: then that is what to tell.
            self.guard.check()
            raise
        self.lease.record_outcome(entry, Outcome.SUCCEEDED, {"snapshot": done.head, "ledger": done.ledger.document()})
        seconds = self.clock.now() - started
        self.watch.slice_done(slice_, done, seconds)

    def _look(self, variant: ReplayVariant, slice_: Slice) -> None:
        """While a slice is at hand: say how far it is."""
        progress = variant.writer.progress(slice_)
        self.watch.slice_progress(slice_, progress)
        self.pacing.note_read(variant.step, progress.bytes)
        self.pacing.meter.throttled_ms = progress.throttled_ms

    def _ask(self) -> None:
        """While a slice is at hand: fetch what operators ask for, and note what limits the replay."""
        self._controls()
        self.pacing.note()

    def _hold(self) -> None:
        """Obey a new limit at once. Asks no database: what ends by itself ends too while that is silent."""
        if self._requests.after:  # before the first answer nothing is read, and an operator's rate is unknown
            self._hold_to(read_controls(self._requests.known, self.bytes_per_second))

    def _heed_rate(self) -> Allowance:
        """The allowance that applies now, after every writer and brake was held to it, and on record."""
        allowance = self._hold_to(self._controls())
        self.pacing.note()
        return allowance

    def _hold_to(self, controls: Controls) -> Allowance:
        def limit(allowance: Allowance) -> None:
            for variant in self.variants:
                variant.writer.limit(allowance.bytes_per_second)

        return self.pacing.apply(controls.allowance, limit, controls.exemptions)

    def _prefetch(
        self, variant: ReplayVariant, slice_: Slice, following: Sequence[tuple[ReplayVariant, Slice]]
    ) -> None:
        """Prefetch the slice at hand and those that follow.

        Under a limit only one follows, while the slice at hand is committed, and none if a pause was requested: a pause
        waits for what was prefetched, and under a limit that takes long.
        """
        variant.writer.prefetch(slice_)
        if self._heed_rate().bytes_per_second is not None:
            variant.writer.await_read(slice_)
            controls, held = self._controls(), self._heed_rate().paused
            stopping = controls.pause or controls.cancel or held or self.watch.interrupted()
            following = following[: 0 if stopping else 1]
        for variant, slice_ in following:
            variant.writer.prefetch(slice_)

    def _discard_prefetched(self) -> None:
        for variant in self.variants:
            variant.writer.discard_prefetched()

    def _obey(self, left: Sequence[Slice]) -> ReplayEnd | None:
        """Do what operators asked for between slices, and wait while a limit allows no slice to begin.

        A pause by an operator is a state of the run; a wait for a limit is not. The lease is held in both, so that
        the replay resumes at once.
        """
        while True:
            controls = self._controls()
            if controls.cancel:
                self._discard_prefetched()
                self.lease.transition(Event.CANCEL)
                return ReplayEnd.CANCELLED
            if self.watch.interrupted():
                if self.lease.run.state is State.REPLAYING:
                    self._discard_prefetched()
                    self.lease.transition(Event.PAUSE, {"reason": "interrupted"})
                return ReplayEnd.PAUSED
            held = self._heed_rate()
            if not controls.pause:
                self.lease.check_epoch()
                if self.lease.run.state is State.PAUSED:
                    self.lease.transition(Event.RESUME)
                if not held.paused:
                    return None
            elif self.lease.run.state is State.REPLAYING:
                self._discard_prefetched()
                self.lease.transition(Event.PAUSE)
            self.watch.resting(POLL_SECONDS, "paused" if controls.pause else hold_words(held))
            self.clock.sleep(POLL_SECONDS)
            self.order(left)  # retention goes on while the replay waits

    def _controls(self) -> Controls:
        return read_controls(self._requests.read(self.lease.reader, self.lease.run_id), self.bytes_per_second)
