"""Rehearses a backfill: a few slices into a scratch branch beside live, every part timed, kept as evidence.

Nothing of it is promoted. The branch is removed however it ends; should the process be killed, by the next rehearsal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.rollback_rehearsal import rehearse_rollback
from anabranch.adapters.iceberg.stored import filled
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.live_watch import LiveWatch
from anabranch.app.planning import ProjectInputs
from anabranch.app.project_context import ProjectContext
from anabranch.app.slice_writers import slice_job
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.binding import byte_rate, of_rehearsal
from anabranch.gates.evidence import Evidence, keep_evidence
from anabranch.plan.forecast.rehearsed import KIND, Fit, Rehearsed, bottleneck, fit
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.readiness.live_samples import arrivals_per_second, worst_lag, worst_latency
from anabranch.readiness.rehearsal_slices import RehearsalSlices, rehearsal_slices
from anabranch.replay.replayer import AHEAD, SliceWriter
from anabranch.replay.slice_ledger import total
from anabranch.replay.staging import Staging, staging_branch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.write.job import SliceJob
    from anabranch.replay.slice_ledger import SliceLedger

LIFETIME = timedelta(days=7)
LEAST_REST, MOST_REST = 1.0, 15.0
"""How long the replay rests after a slice, in seconds: as long as the slice took, within these."""
EPOCH = 1
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


@dataclass(frozen=True)
class Rehearsal:
    project_context: ProjectContext
    store: SqlRunStore
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    person: str
    spark: SparkSession
    bytes_per_record: float | None = None
    """By the topic's size, before anything is read; None: the cluster does not say."""
    say: Callable[[str], object] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @property
    def name(self) -> str:
        """What its branches are known by, in place of a run's id."""
        return f"rehearsal-{self.plan.pipeline}"

    def __call__(self, now: datetime) -> tuple[Rehearsed, Evidence]:
        """Carry it out and put what was found on record."""
        self._require_batches()
        target = IcebergTarget(self.project_context.catalog.open(), self.plan.target.table)
        target.remove_refs(self.name)
        try:
            found = self._measure(target)
        except AnabranchError as error:
            raise RehearsalFailedError(
                f"The rehearsal of {self.plan.pipeline} stopped: {error.what}",
                state="Production is as before; nothing of the rehearsal is kept.",
                hint="mend what it says, then rehearse again; a backfill would stop at the same place",
                reason=error.code,
            ) from error
        finally:
            target.remove_refs(self.name)
        bound = of_rehearsal(self.plan, self.contract)
        details = {**found.document(), "plan": self.plan.hash, "about": dict(bound.about)}
        until = now + LIFETIME
        return found, keep_evidence(self.store.writer, KIND, bound.subject, details, by=self.person, good_until=until)

    def _require_batches(self) -> None:
        """A replay as a stream goes on from a checkpoint that is its run's own."""
        if self.plan.stream is not None:
            raise RehearsalImpossibleError(
                "A stream-faithful replay can't be rehearsed: it goes on from a checkpoint that belongs to its run.",
                state=NOTHING_CHANGED,
                hint="rehearse a copy of the contract with the strategy batch-exact: reading, decoding and "
                "writing take as long; or apply it and watch its rate",
            )

    def _measure(self, target: IcebergTarget) -> Rehearsed:
        from anabranch.adapters.spark.write.factory import compose_slice_writer

        staging, commit = self._stage(target)
        job = self._job()
        native = self.project_context.loaded.settings.spark.native
        writer = compose_slice_writer(job, native=native, notice=self.say)
        watch = LiveWatch(self.project_context, self.pipeline)
        pieces = rehearsal_slices(self.plan, self._most_offsets)
        writer.limit(self._rate)
        with watch.watching():
            bursts = self._bursts(writer, staging, watch, pieces)
        line = fit([each.of_one for each in bursts])
        stages = self._stages(job, writer, pieces, staging, line, commit)
        head = target.head(staging.branch) or staging.snapshot
        validate = self._validate(target, head)
        self.say("Promoting and rolling back on a scratch branch …")
        way_back = rehearse_rollback(target, self.name, self.plan.target.partitions, head, self.clock)
        bytes_read, _ = total(ledger for each in bursts for ledger in each.ledgers)
        records, seconds = sum(each.records for each in bursts), sum(each.seconds for each in bursts)
        samples = watch.samples
        return Rehearsed(
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
            cores=int(self.spark.sparkContext.defaultParallelism),
            stages=stages,
            bytes_per_second_limit=self._rate,
        )

    @property
    def _rate(self) -> int | None:
        """The contract's limit in bytes per second."""
        return byte_rate(self.contract)

    @property
    def _most_offsets(self) -> int | None:
        """How many may be replayed, so that the contract's rate does not make it a matter of hours; None: any."""
        if self._rate is None or not self.bytes_per_record:
            return None
        return max(1, round(MOST_SECONDS * self._rate / self.bytes_per_record))

    def _job(self) -> SliceJob:
        """As a replay's, except that bad records are only counted."""
        job = slice_job(self.spark, self.project_context, self.plan, self.pipeline, self.name)
        return replace(job, set_aside=False)

    def _stage(self, target: IcebergTarget) -> tuple[Staging, float]:
        """The scratch branch, made as staging is; and how long that commit took."""
        branch = staging_branch(self.name, EPOCH)
        seconds = self._seconds(lambda: target.stage(branch, self.plan.root, self.plan.taken_out, {}))
        head = target.head(branch)
        if head is None:
            raise AssertionError(f"{branch} was made and is not there")
        state = None if self.plan.state is None else self.plan.state.snapshot
        return Staging(self.name, EPOCH, head, self.plan.target.partitions, state), seconds

    def _bursts(self, writer: SliceWriter, staging: Staging, watch: LiveWatch, pieces: RehearsalSlices) -> list[Burst]:
        """Replay and rest in turn. The warm-up is not counted, in time or in what live had to bear."""
        if pieces.warm_up:
            self.say(f"Warming up: {pieces.warm_up[0].width:,} offsets …")
            self._burst(writer, staging, pieces.warm_up)
        found: list[Burst] = []
        for burst in pieces.bursts:
            self.say(f"{len(burst)} slices of about {burst[0].width:,} offsets …")
            with watch.replaying():
                found.append(self._burst(writer, staging, burst))
            self.sleep(min(MOST_REST, max(LEAST_REST, found[-1].seconds)))
        return found

    def _rest(self, bytes_read: int, seconds: float) -> None:
        """Until so many bytes fit the contract's rate."""
        if self._rate is not None:
            self.sleep(max(0.0, bytes_read / self._rate - seconds))

    def _burst(self, writer: SliceWriter, staging: Staging, slices: tuple[Slice, ...]) -> Burst:
        """As a replay does it: drift is looked for before each slice, and those after it are read ahead."""
        present, started = ProjectInputs(self.project_context, self.pipeline, self.plan), self.clock()
        ledgers = []
        try:
            for number, slice_ in enumerate(slices):
                present.now()
                begun = self.clock()
                for each in slices[number : number + 1 + (AHEAD if self._rate is None else 0)]:
                    writer.begin(each)
                ledgers.append(writer.write(slice_, staging).ledger)
                self._rest(ledgers[-1].bytes, self.clock() - begun)
        finally:
            writer.let_go()
        return Burst(slices, tuple(ledgers), self.clock() - started)

    def _stages(
        self,
        job: SliceJob,
        writer: SliceWriter,
        pieces: RehearsalSlices,
        staging: Staging,
        line: Fit,
        commit: float,
    ) -> dict[str, float]:
        """Of a slice on its own: in a burst the stages of several overlap. A small range has no slice left for it."""
        from anabranch.adapters.spark.write.stages import time_stages

        slice_, replayed = pieces.taken_apart, {each.id for burst in pieces.bursts for each in burst}

        def write() -> float:
            if slice_.id in replayed:
                return line.seconds(slice_.width)
            return self._seconds(lambda: writer.write(slice_, staging))

        self.say("Timing each stage of a slice …")
        return time_stages(job, slice_, staging, self.clock, write, commit)

    def _validate(self, target: IcebergTarget, head: int) -> float:
        """Seconds per million rows of the range, of the partitions that the rehearsed slices have filled.

        Twice, and the second counts: the first also loads what all later ones find loaded.
        """
        from anabranch.adapters.spark.validate.measures import measure

        self.say("Timing validation …")
        table = target.load()
        part = filled(table, head, self.plan.target.partitions)
        narrow = replace(self.plan, target=replace(self.plan.target, partitions=part))
        marks = [self.clock()]
        for _ in range(2):
            measures = measure(
                self.spark,
                self.project_context.catalog.name,
                self.plan.target.table,
                narrow,
                head,
                self.contract,
                self.pipeline,
                self.project_context.folder,
                schema=schema_digest(table),
            )
            marks.append(self.clock())
        rows = fmean(side.total.rows for side in (measures.base, measures.staged))
        return (marks[2] - marks[1]) / max(1.0, rows) * 1e6

    def _seconds(self, work: Callable[[], object]) -> float:
        started = self.clock()
        work()
        return self.clock() - started


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
