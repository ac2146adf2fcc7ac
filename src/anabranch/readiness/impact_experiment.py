"""Measures what a running replay does to live: switches it off and on in random pairs and looks at live meanwhile.

The replay asks `shape` about once a second. `tick`, called in a thread of its own, looks at live and moves from block
to block. What fails here ends the experiment at most, never the replay.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from anabranch.errors import AnabranchError, text_of
from anabranch.gates.impact.design import Block, Design, block_lengths
from anabranch.gates.impact.measured import Impact
from anabranch.readiness.impact_requests import ImpactRequest
from anabranch.readiness.live_blocks import BlockSpan, longest_batch, measure_blocks
from anabranch.readiness.live_samples import LiveSample
from anabranch.readiness.ports import LivePositions
from anabranch.replay.allowance import STANDSTILL, Allowance
from anabranch.replay.allowance_words import hold_words

SOURCE = "impact"
SAMPLE_SECONDS = 0.5
IDLE_SECONDS = 2.0
"""Between two looks for a request."""
OBSERVE_SECONDS = 30.0
"""Before the first block, to see how long live's batches are. They are taken to be as long where fewer than two of them
end in it."""

LATE_SECONDS = 10.0
"""So long after a block should have ended it holds nothing more: the thread that observes live hangs or has ended."""


class ExperimentLog(Protocol):
    """Where requests come from and results go. Each call may raise an AnabranchError; it is made again then."""

    def requested(self) -> ImpactRequest | None:
        """The newest request, if its experiment has not ended."""

    def started(self, request: ImpactRequest, design: Design) -> None: ...

    def ended(self, request: ImpactRequest, impact: Impact | None, reason: str | None) -> None:
        """`impact` is None if it ended before its first block; `reason`: why it ended early."""


@dataclass
class _OpenBlock:
    """The block at hand."""

    block: Block
    counted_from: float | None = None
    """When its dropped part was over; None: it is not yet."""
    bytes_before: int = 0
    is_frozen: bool = False
    rate: int | None = None
    """What it is held to, once that is frozen."""
    flaw: str | None = None


@dataclass
class _Course:
    """One experiment, from its request on."""

    request: ImpactRequest
    positions: LivePositions
    since: float
    bytes_before: int
    samples: list[LiveSample] = field(default_factory=list)
    design: Design | None = None
    began: float = 0.0
    open: _OpenBlock | None = None
    spans: list[BlockSpan] = field(default_factory=list)
    reason: str | None = None
    is_over: bool = False


class ImpactExperiment:
    """An `Experiment` of the replay's pacing. Idle until somebody requests one; then one after the other."""

    def __init__(
        self,
        log: ExperimentLog,
        positions: Callable[[], LivePositions],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._positions = positions
        self._clock = clock
        self._lock = Lock()
        self._read: dict[str, int] = {}
        self._course: _Course | None = None

    @property
    def is_going_on(self) -> bool:
        return self._course is not None

    @property
    def seconds_to_next_tick(self) -> float:
        return SAMPLE_SECONDS if self.is_going_on else IDLE_SECONDS

    def shape(self, allowed: Allowance) -> Allowance:
        with self._lock:
            course = self._course
            if course is None or course.design is None or course.open is None:
                return allowed
            at, of = course.open, 2 * course.design.pairs
            words = f"measuring the effect on live, block {at.block.number} of {of}"
            if self._clock() - course.began > at.block.end + LATE_SECONDS:
                at.flaw = "live was not looked at when the block was to end"
                return allowed
            if not at.block.on:
                return Allowance(SOURCE, f"{words}, without the replay", STANDSTILL, paused=True)
            if not at.is_frozen:
                at.is_frozen, at.rate = True, allowed.bytes_per_second
            if allowed.paused:
                at.flaw = hold_words(allowed)
                return allowed
            if _is_lower(allowed.bytes_per_second, at.rate):
                at.flaw = f"the {allowed.source} lowered the rate inside the block"
                return allowed
            return Allowance(SOURCE, f"{words}, with the replay", at.rate)

    def note_read(self, step: str, bytes_: int) -> None:
        with self._lock:
            self._read[step] = bytes_

    def tick(self) -> None:
        """Look at live and move on. Called about every `SAMPLE_SECONDS`. Raises an AnabranchError of the log, after
        which the next call goes on from there."""
        course = self._course
        if course is None:
            self._begin()
        elif course.is_over:
            self._finish(course)
        else:
            self._sample(course)
            now = self._clock()
            if course.design is None:
                self._observe(course, now)
            else:
                self._advance(course, course.design, now)

    def stop(self, reason: str) -> None:
        """End the experiment at hand, if there is one, with the blocks that it has. Raises as `tick` does."""
        course = self._course
        if course is not None:
            if not course.is_over:
                self._end(course, reason)
            self._finish(course)

    def _begin(self) -> None:
        request = self._log.requested()
        if request is None:
            return
        try:
            positions = self._positions()
        except Exception as error:  # of any client library: the request would stay open, and be waited for
            what = error.what if isinstance(error, AnabranchError) else f"{type(error).__name__}: {text_of(error)}"
            self._log.ended(request, None, f"live's position can't be read: {what}")
            return
        self._course = _Course(request, positions, self._clock(), self._bytes)

    def _sample(self, course: _Course) -> None:
        """One look at live. A failed one is missing: a block with too few does not count."""
        try:
            ends = course.positions.log_ends()
            position = course.positions.of_group() or course.positions.of_table() or None
        except Exception:  # of any client library; the replay's own reads report an outage
            return
        is_on = course.open is not None and course.open.block.on
        course.samples.append(LiveSample(self._clock(), dict(ends), position, is_on))

    def _observe(self, course: _Course, now: float) -> None:
        """Until live's batches were seen, and the replay reads."""
        watched, given = now - course.since, course.request.block_seconds
        if self._bytes <= course.bytes_before or (given is None and watched < OBSERVE_SECONDS):
            return
        if given is not None:
            length, settle = given, given / 4
        else:
            length, settle = block_lengths(longest_batch(course.samples) or OBSERVE_SECONDS)
        design = Design(course.request.pairs, length, settle, course.request.seed)
        self._log.started(course.request, design)
        with self._lock:
            course.design, course.began = design, self._clock()
            course.open = _OpenBlock(design.blocks[0])

    def _advance(self, course: _Course, design: Design, now: float) -> None:
        elapsed = now - course.began
        block, at = design.block_at(elapsed), course.open
        if at is not None and block != at.block:
            self._close(course, at, now)
            with self._lock:
                course.open = None if block is None else _OpenBlock(block)
            at = course.open
        if at is not None and at.counted_from is None and elapsed >= at.block.start + design.settle_seconds:
            at.counted_from, at.bytes_before = now, self._bytes
        if block is None and elapsed >= design.seconds + design.block_seconds / 2:
            self._end(course, None)  # what arrived in the last block was given time to be committed

    def _close(self, course: _Course, at: _OpenBlock, now: float) -> None:
        if at.counted_from is not None:
            read = self._bytes - at.bytes_before
            span = BlockSpan(
                at.block.number, at.block.pair, at.block.on, at.counted_from, now, read, at.rate, at.flaw
            )  # fmt: skip
            course.spans.append(span)

    def _end(self, course: _Course, reason: str | None) -> None:
        with self._lock:
            course.open, course.reason, course.is_over = None, reason, True

    def _finish(self, course: _Course) -> None:
        try:
            self._log.ended(course.request, self._measured(course), course.reason)
        except AnabranchError:
            raise
        except Exception as error:  # the replay goes on; without an end on record it would be measured again
            self._log.ended(course.request, None, f"Internal error: {type(error).__name__}: {text_of(error)}.")
        self._course = None

    def _measured(self, course: _Course) -> Impact | None:
        if course.design is None:
            return None
        every = _mean_interval(course.samples)
        blocks = measure_blocks(course.spans, course.samples, every)
        return Impact(course.design, blocks, "replay", round(every, 3), course.reason)

    @property
    def _bytes(self) -> int:
        with self._lock:
            return max(self._read.values(), default=0)  # all steps count by the one meter of this process


def _is_lower(rate: int | None, than: int | None) -> bool:
    return rate is not None and (than is None or rate < than)


def _mean_interval(samples: list[LiveSample]) -> float:
    if len(samples) < 2:
        return SAMPLE_SECONDS
    return max(SAMPLE_SECONDS, (samples[-1].at - samples[0].at) / (len(samples) - 1))
