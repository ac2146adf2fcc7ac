"""Rehearses a backfill: a few slices into a scratch branch beside live, every part timed, recorded as evidence.

Nothing is promoted. The branch is removed when the rehearsal ends or fails; if its process was killed, by the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import randbits
from typing import TYPE_CHECKING

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.binding import byte_rate, of_rehearsal
from anabranch.gates.evidence import Evidence, keep_evidence
from anabranch.gates.impact.design import Block, Design, block_lengths
from anabranch.gates.impact.measured import Impact
from anabranch.gates.impact.stored import keep_impact
from anabranch.plan.forecast.rehearsed import KIND, Fit, Rehearsed, bottleneck, fit
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.readiness.live_blocks import BlockSpan, longest_batch, measure_blocks
from anabranch.readiness.live_samples import LiveSample, arrivals_per_second, worst_lag, worst_latency
from anabranch.readiness.live_watch import EVERY_SECONDS, LiveWatch
from anabranch.readiness.ports import RehearsalTools
from anabranch.readiness.rehearsal_slices import RehearsalSlices, rehearsal_slices
from anabranch.replay.replayer import AHEAD, SliceWriter
from anabranch.replay.slice_ledger import total
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import RunStore

if TYPE_CHECKING:
    from anabranch.replay.slice_ledger import SliceLedger

LIFETIME = timedelta(days=7)
LEAST_REST, MOST_REST = 1.0, 15.0
"""How long the replay rests after a burst, in seconds: as long as the burst took, within these."""
MOST_SECONDS = 60
"""Of reading at the contract's byte rate: slices are made smaller until the rehearsal is within it."""


class RehearsalFailedError(AnabranchError):
    code = "rehearsal.failed"
    exit_code = ExitCode.FAILED


class RehearsalImpossibleError(AnabranchError):
    code = "rehearsal.impossible"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class Burst:
    """Rehearsed slices of one size, one after the other."""

    slices: tuple[Slice, ...]
    ledgers: tuple[SliceLedger, ...]
    seconds: float

    @property
    def records(self) -> int:
        return sum(each.width for each in self.slices)

    @property
    def of_one(self) -> tuple[int, float]:
        """Records and seconds of one slice."""
        return self.records // len(self.slices), self.seconds / len(self.slices)


def require_rehearsable(plan: Plan) -> None:
    """Raise RehearsalImpossibleError for a replay as a stream: it resumes a checkpoint that is its run's own."""
    if plan.stream is not None:
        raise RehearsalImpossibleError(
            "A stream-faithful replay can't be rehearsed: it resumes a checkpoint that belongs to its run.",
            state=NOTHING_CHANGED,
            hint="Rehearse a copy of the contract with the strategy batch-exact: reading, decoding and writing take "
            "as long. Or apply the contract and watch its rate.",
        )


def most_offsets(rate: int | None, bytes_per_record: float | None) -> int | None:
    """How many offsets are read in `MOST_SECONDS` at the contract's rate; None: no limit, or no known size."""
    if rate is None or not bytes_per_record:
        return None
    return max(1, round(MOST_SECONDS * rate / bytes_per_record))


def rest_after(seconds: float) -> float:
    """How long the replay rests after a burst of so many seconds."""
    return min(MOST_REST, max(LEAST_REST, seconds))


@dataclass(frozen=True)
class Rehearsal:
    tools: RehearsalTools
    store: RunStore
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    person: str
    bytes_per_record: float | None = None
    """By the topic's size, before anything is read; None: the cluster does not say."""
    say: Callable[[str], object] = lambda _: None
    pairs: int = 0
    """Of blocks with and without the replay, to measure its effect on live. 0: none; two blocks take 40 s or more."""
    seed: int = field(default_factory=lambda: randbits(32))
    """Draws their order."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, now: datetime) -> tuple[Rehearsed, Evidence]:
        """Rehearse, and record the measurements as evidence.

        Raises RehearsalImpossibleError before anything is changed, or RehearsalFailedError after the branch is removed.
        """
        require_rehearsable(self.plan)
        self.tools.remove_branches()
        try:
            found, impact = self._measure()
        except AnabranchError as error:
            raise RehearsalFailedError(
                f"The rehearsal of {self.plan.pipeline} failed: {error.what}",
                state="Production unchanged. The scratch branch is removed; no evidence was recorded.",
                hint="Fix the cause, then rehearse again: a backfill would fail at the same place.",
                reason=error.code,
            ) from error
        finally:
            self.tools.remove_branches()
        bound = of_rehearsal(self.plan, self.contract)
        details = {**found.document(), "plan": self.plan.hash, "about": dict(bound.about)}
        until = now + LIFETIME
        if impact is not None:
            keep_impact(self.store.writer, impact, self.plan, self.contract, by=self.person, now=now)
        return found, keep_evidence(self.store.writer, KIND, bound.subject, details, by=self.person, good_until=until)

    def _measure(self) -> tuple[Rehearsed, Impact | None]:
        staging, commit = self._stage()
        writer = self.tools.writer()
        watch = LiveWatch(self.tools.live())
        slices = rehearsal_slices(self.plan, most_offsets(self._rate, self.bytes_per_record))
        writer.limit(self._rate)
        with watch.watching():
            bursts = self._bursts(writer, staging, watch, slices)
        line = fit([each.of_one for each in bursts])
        stages = self._stages(writer, slices, staging, line, commit)
        head = self.tools.head(staging)
        validate = self._validate(head)
        self.say("Promoting and rolling back on a scratch branch …")
        way_back = self.tools.rehearse_rollback(head, self.clock)
        bytes_read, _ = total(ledger for each in bursts for ledger in each.ledgers)
        records, seconds = sum(each.records for each in bursts), sum(each.seconds for each in bursts)
        samples = watch.samples
        impact = self._measure_impact(writer, staging, slices, samples) if self.pairs else None
        rehearsed = Rehearsed(
            records_per_second=round(records / seconds, 1),
            bytes_per_second=round(bytes_read / seconds, 1),
            validate_seconds_per_million_rows=round(validate, 3),
            promote_seconds=way_back.promote_seconds,
            rollback_seconds=way_back.rollback_seconds,
            commit_seconds=round(commit, 3),
            live_lag_with=worst_lag(samples, replaying=True),
            live_lag_without=worst_lag(samples, replaying=False),
            live_latency_with=_rounded(worst_latency(samples, replaying=True)),
            live_latency_without=_rounded(worst_latency(samples, replaying=False)),
            bottleneck=bottleneck(stages),
            records=records,
            bytes=bytes_read,
            slice_seconds=round(line.slice_seconds, 6),
            record_seconds=round(line.record_seconds, 12),
            arrivals_per_second=round(arrivals_per_second(samples), 3),
            cores=self.tools.cores(),
            stages=stages,
            bytes_per_second_limit=self._rate,
        )
        return rehearsed, impact

    @property
    def _rate(self) -> int | None:
        """The contract's limit in bytes per second."""
        return byte_rate(self.contract)

    def _stage(self) -> tuple[Staging, float]:
        """The scratch branch, made as staging is, and how long that commit took."""
        started = self.clock()
        self.tools.make_branch()
        seconds = self.clock() - started
        return self.tools.staging(), seconds

    def _bursts(self, writer: SliceWriter, staging: Staging, watch: LiveWatch, slices: RehearsalSlices) -> list[Burst]:
        """Replay and rest in turn. The warm-up does not count, neither in time nor in live's lag."""
        if slices.warm_up:
            self.say(f"Warming up: {slices.warm_up[0].width:,} offsets …")
            self._burst(writer, staging, slices.warm_up)
        found: list[Burst] = []
        for burst in slices.bursts:
            self.say(f"{len(burst)} slices of about {burst[0].width:,} offsets …")
            with watch.replaying():
                found.append(self._burst(writer, staging, burst))
            self.sleep(rest_after(found[-1].seconds))
        return found

    def _pace(self, bytes_read: int, seconds: float) -> None:
        """Wait until so many bytes are within the contract's rate."""
        if self._rate is not None:
            self.sleep(max(0.0, bytes_read / self._rate - seconds))

    def _burst(self, writer: SliceWriter, staging: Staging, slices: tuple[Slice, ...]) -> Burst:
        """As a replay does it: the plan's inputs are observed before each slice, and the next ones are read ahead."""
        started = self.clock()
        ledgers = []
        try:
            for number, slice_ in enumerate(slices):
                self.tools.observe_inputs()
                begun = self.clock()
                for each in slices[number : number + 1 + (AHEAD if self._rate is None else 0)]:
                    writer.prefetch(each)
                ledgers.append(writer.write(slice_, staging).ledger)
                self._pace(ledgers[-1].bytes, self.clock() - begun)
        finally:
            writer.discard_prefetched()
        return Burst(slices, tuple(ledgers), self.clock() - started)

    def _measure_impact(
        self, writer: SliceWriter, staging: Staging, slices: RehearsalSlices, before: Sequence[LiveSample]
    ) -> Impact:
        """Switch the replay on and off in random pairs. It replays the smallest burst again and again, so that the
        topic is read from the brokers' page cache after the first time."""
        length, settle = block_lengths(longest_batch(before) or 0.0)
        design = Design(self.pairs, length, settle, self.seed)
        watch, spans = LiveWatch(self.tools.live()), []
        with watch.watching():
            for block in design.blocks:
                self.say(f"Block {block.number} of {2 * self.pairs}, {'with' if block.on else 'without'} the replay …")
                spans.append(self._block(block, design, writer, staging, slices.bursts[0]))
            self.sleep(length / 2)  # for live to commit what arrived in the last block
        return Impact(design, measure_blocks(spans, watch.samples, EVERY_SECONDS), "rehearsal", EVERY_SECONDS)

    def _block(
        self, block: Block, design: Design, writer: SliceWriter, staging: Staging, burst: tuple[Slice, ...]
    ) -> BlockSpan:
        """One block. With the replay it ends with the burst in which its time is over, so that it may be longer."""

        def work(seconds: float) -> float:
            until = self.clock() + seconds
            if not block.on:
                self.sleep(seconds)
            while block.on and self.clock() < until:
                self._burst(writer, staging, burst)
            return self.clock()

        start = work(design.settle_seconds)
        before = writer.progress(burst[0]).bytes
        end = work(design.block_seconds - design.settle_seconds)
        read = writer.progress(burst[0]).bytes - before
        return BlockSpan(block.number, block.pair, block.on, start, end, read, self._rate if block.on else None)

    def _stages(
        self, writer: SliceWriter, slices: RehearsalSlices, staging: Staging, line: Fit, commit: float
    ) -> dict[str, float]:
        """Of one slice alone: in a burst the stages of several overlap. A small range has no slice left for it."""
        slice_, replayed = slices.taken_apart, {each.id for burst in slices.bursts for each in burst}

        def write() -> float:
            if slice_.id in replayed:
                return line.seconds(slice_.width)
            started = self.clock()
            writer.write(slice_, staging)
            return self.clock() - started

        self.say("Timing each stage of a slice …")
        return self.tools.time_stages(slice_, staging, self.clock, write, commit)

    def _validate(self, head: Head) -> float:
        """Seconds per million rows of the range, of the partitions that the rehearsed slices have filled.

        Measured twice, and the second counts: the first also loads what every later validation finds loaded.
        """
        self.say("Timing validation …")
        validate = self.tools.validation(head)
        validate()
        started = self.clock()
        rows = validate()
        return (self.clock() - started) / max(1.0, rows) * 1e6


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
