"""Rehearses a backfill: a few slices into a scratch branch beside live, every part timed, kept as evidence.

Nothing of it is promoted. The branch is removed however it ends; should the process be killed, by the next rehearsal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.rollback_rehearsal import rehearse_rollback
from anabranch.adapters.iceberg.stored import filled
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_TOUCHED, AnabranchError, ExitCode
from anabranch.gates.evidence import Evidence, keep_evidence
from anabranch.plan.live_seen import arrivals_per_second, worst_lag, worst_latency
from anabranch.plan.pieces import pieces_of
from anabranch.plan.plan import Plan
from anabranch.plan.rehearsed import KIND, Rehearsed, bottleneck, fit
from anabranch.plan.slices import Slice
from anabranch.replay.slice_ledger import total
from anabranch.replay.staging import Staging, staging_branch
from anabranch.wiring.live_watch import LiveWatch
from anabranch.wiring.planning import ProjectPresent
from anabranch.wiring.slice_writers import slice_writer
from anabranch.wiring.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.slices import SparkSliceWriter
    from anabranch.replay.slice_ledger import SliceLedger

LIFETIME = timedelta(days=7)
LEAST_REST, MOST_REST = 1.0, 15.0
"""How long the replay rests after a slice, in seconds: as long as the slice took, within these."""
LOOKS_PER_SLICE = 2
"""A replay looks for drift before and after each slice."""
EPOCH = 1


class RehearsalFailedError(AnabranchError):
    code = "rehearsal.failed"
    exit_code = ExitCode.FAILED


class RehearsalImpossibleError(AnabranchError):
    code = "rehearsal.impossible"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class Timed:
    """One rehearsed slice."""

    piece: Slice
    ledger: SliceLedger
    seconds: float


@dataclass(frozen=True)
class Rehearsal:
    workplace: Workplace
    store: SqlRunStore
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    person: str
    spark: SparkSession
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
        target = IcebergTarget(self.workplace.catalog.open(), self.plan.target.table)
        target.remove_refs(self.name)
        try:
            found = self._measure(target)
        except AnabranchError as error:
            raise RehearsalFailedError(
                f"The rehearsal of {self.plan.pipeline} stopped: {error.what}",
                untouched="Production is as before; nothing of the rehearsal is kept.",
                next_step="mend what it says, then rehearse again; a backfill would stop at the same place",
                reason=error.code,
            ) from error
        finally:
            target.remove_refs(self.name)
        subject = f"pipeline/{self.plan.pipeline}"
        said = {**found.document(), "plan": self.plan.hash}
        kept = keep_evidence(self.store.writer, KIND, subject, said, by=self.person, good_until=now + LIFETIME)
        return found, kept

    def _require_batches(self) -> None:
        """A replay as a stream goes on from a checkpoint that is its run's own."""
        if self.plan.stream is not None:
            raise RehearsalImpossibleError(
                "A stream-faithful replay can't be rehearsed: it goes on from a checkpoint that belongs to its run.",
                untouched=NOTHING_TOUCHED,
                next_step="rehearse a copy of the contract with the strategy batch-exact: reading, decoding and "
                "writing take as long; or apply it and watch its rate",
            )

    def _measure(self, target: IcebergTarget) -> Rehearsed:
        staging, commit = self._stage(target)
        writer = self._writer()
        watch = LiveWatch(self.workplace, self.pipeline)
        pieces = pieces_of(self.plan)
        with watch.watching():
            slices = self._slices(writer, staging, watch, pieces.replayed)
        looks = LOOKS_PER_SLICE * self._seconds(ProjectPresent(self.workplace, self.pipeline, self.plan).now)
        line = fit([(each.piece.width, each.seconds + looks) for each in slices])
        whole = line.seconds(pieces.taken_apart.width) - looks
        stages = self._stages(writer, pieces.taken_apart, staging, whole, commit)
        head = target.head(staging.branch) or staging.snapshot
        validate = self._validate(target, head)
        self.say("Promoting and rolling back on a scratch branch …")
        way_back = rehearse_rollback(target, self.name, self.plan.target.partitions, head, self.clock)
        bytes_read, _ = total(each.ledger for each in slices)
        records, seconds = sum(each.piece.width for each in slices), sum(each.seconds + looks for each in slices)
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
        )

    def _writer(self) -> SparkSliceWriter:
        """As a replay's, but that bad records are only counted."""
        from anabranch.adapters.spark.slices import SparkSliceWriter

        writer = slice_writer(self.spark, self.workplace, self.plan, self.pipeline, self.name)
        if not isinstance(writer, SparkSliceWriter):
            raise TypeError(f"slices of {self.plan.pipeline} are not written on Spark")
        return replace(writer, set_aside=False)

    def _stage(self, target: IcebergTarget) -> tuple[Staging, float]:
        """The scratch branch, made as staging is; and how long that commit took."""
        branch = staging_branch(self.name, EPOCH)
        seconds = self._seconds(lambda: target.stage(branch, self.plan.root, self.plan.taken_out, {}))
        head = target.head(branch)
        if head is None:
            raise AssertionError(f"{branch} was made and is not there")
        state = None if self.plan.state is None else self.plan.state.snapshot
        return Staging(self.name, EPOCH, head, self.plan.target.partitions, state), seconds

    def _slices(
        self, writer: SparkSliceWriter, staging: Staging, watch: LiveWatch, pieces: Sequence[Slice]
    ) -> list[Timed]:
        """Replay and rest in turn. The first slice only warms up, unless there is no other."""
        found: list[Timed] = []
        for number, piece in enumerate(pieces, start=1):
            self.say(f"Slice {number} of {len(pieces)}: {piece.width:,} offsets …")
            started = self.clock()
            with watch.replaying():
                done = writer.write(piece, staging)
                seconds = self.clock() - started
            found.append(Timed(piece, done.ledger, seconds))
            self.sleep(min(MOST_REST, max(LEAST_REST, found[-1].seconds)))
        return found[1:] or found

    def _stages(
        self, writer: SparkSliceWriter, piece: Slice, staging: Staging, whole: float, commit: float
    ) -> dict[str, float]:
        from anabranch.adapters.spark.stages import time_stages

        self.say("Timing each stage of a slice …")
        return time_stages(writer, piece, staging.branch, self.clock, whole, commit)

    def _validate(self, target: IcebergTarget, head: int) -> float:
        """Seconds per million rows of the range, of the partitions that the rehearsed slices have filled.

        Twice, and the second counts: the first also loads what all later ones find loaded.
        """
        from anabranch.adapters.spark.measures import measure

        self.say("Timing validation …")
        table = target.load()
        part = filled(table, head, self.plan.target.partitions)
        narrow = replace(self.plan, target=replace(self.plan.target, partitions=part))
        marks = [self.clock()]
        for _ in range(2):
            measures = measure(
                self.spark,
                self.workplace.catalog.name,
                self.plan.target.table,
                narrow,
                head,
                self.contract,
                self.pipeline,
                self.workplace.folder,
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
