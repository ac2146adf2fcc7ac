"""A readiness drill: a small range of a pipeline replayed beside production, validated, measured, never promoted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any, Generic, TypeVar

from anabranch.contract.load import LoadedPipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.evidence import keep_evidence
from anabranch.plan.planner import EmptyRangeError, Planned
from anabranch.plan.preconditions import RetentionPassedError
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.event_windows import WindowsOpenError
from anabranch.plan.strategies.strategy import legal_strategies
from anabranch.readiness.drill_ranges import drill_contract, is_drill_of, ranges_by_partition, ranges_since
from anabranch.readiness.drill_report import COUNTS_FOR, KIND, DrillReport, Exercise, Seconds, answer
from anabranch.readiness.ports import DrillRun, DrillSources
from anabranch.replay.replayer import ReplayEnd, RunObserver, SliceDone, SliceProgress
from anabranch.runs.run_lease import RunLease, RunStore
from anabranch.runs.states import TRANSITIONS, Event, State
from anabranch.validate.report import Report, Verdict

TRY_NEXT = (WindowsOpenError, EmptyRangeError, RetentionPassedError)
"""Refusals of one range that do not apply to the next."""
Run = TypeVar("Run", bound=DrillRun)


class DrillImpossibleError(AnabranchError):
    code = "drill.impossible"
    exit_code = ExitCode.REFUSED


class DrillStoppedError(AnabranchError):
    code = "drill.stopped"
    exit_code = ExitCode.INTERRUPTED


@dataclass
class _SliceTimer:
    """Passes progress on, and adds up the seconds of the slices."""

    watch: RunObserver
    seconds: float = 0.0

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None:
        self.seconds += seconds
        self.watch.slice_done(slice_, done, seconds)

    def phase(self, words: str) -> None:
        self.watch.phase(words)

    def remaining(self, slices: Sequence[Slice]) -> None:
        self.watch.remaining(slices)

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:
        self.watch.slice_progress(slice_, progress)

    def resting(self, seconds: float, reason: str) -> None:
        self.watch.resting(seconds, reason)

    def notice(self, words: str) -> None:
        self.watch.notice(words)

    def interrupted(self) -> bool:
        return self.watch.interrupted()


def same_code(written_by: Sequence[str], on_disk: str) -> bool | None:
    """Whether the code on disk wrote every live commit of the table; None: no commit records its code."""
    return None if not written_by else tuple(written_by) == (on_disk,)


@dataclass(frozen=True)
class Drill(Generic[Run]):
    sources: DrillSources
    store: RunStore
    loaded: LoadedPipeline
    take: Callable[[str], Run]
    """Opens a run by its id."""
    actor: str
    clock: Callable[[], float] = time.monotonic

    def __call__(self, watch: Callable[[Run], RunObserver], now: datetime) -> DrillReport:
        """Drill, and record the answers as evidence. However it ends, the run is closed and its staging removed.

        Raises DrillImpossibleError if no range can be replayed, DrillStoppedError if the replay was interrupted.
        """
        self._close_abandoned()
        started = self.clock()
        planned = self.plan(now)
        plan_seconds = self.clock() - started
        run = self.take(self.sources.submit(planned, now, self.actor))
        lag_before = run.lag()
        timer = _SliceTimer(watch(run))
        report, record, (replay, validate, close) = self._carry_out(run, timer, now)
        seconds = Seconds(plan_seconds, replay, timer.seconds, validate, close)
        found = answer(self._exercise(run, report, record, seconds, lag_before, now))
        keep_evidence(
            self.store.writer,
            KIND,
            f"pipeline/{self.loaded.name}",
            found.document(),
            by=self.actor,
            good_until=now + COUNTS_FOR,
            run_id=run.run_id,
        )
        return found

    def plan(self, now: datetime) -> Planned:
        """The plan of the first candidate range that can be replayed."""
        refused: PlanRefusedError | None = None
        for requested in self._ranges():
            contract = drill_contract(self.loaded.name, self.loaded.pipeline.spec.owner, requested)
            try:
                return self.sources.plan(contract, now)
            except TRY_NEXT as error:
                refused = error
        raise DrillImpossibleError(
            f"No range of {self.loaded.name} can be drilled: "
            + ("its table has no rows in a finished partition." if refused is None else refused.what),
            state=NOTHING_CHANGED,
            command=f"anabranch live status {self.loaded.name}",
            hint="Drill again after live has written more rows.",
        ) from refused

    def _carry_out(
        self, run: Run, watch: RunObserver, now: datetime
    ) -> tuple[Report, Mapping[str, Any], tuple[float, float, float]]:
        marks = [self.clock()]
        with run.lease() as lease:
            try:
                if run.replay(lease, watch).end is not ReplayEnd.STAGED:
                    raise DrillStoppedError(
                        f"The drill of {self.loaded.name} was interrupted.",
                        state="Production unchanged. Staging is removed.",
                        command=f"anabranch drill {self.loaded.name}",
                    )
                marks.append(self.clock())
                report = run.validate(lease, now).report
                marks.append(self.clock())
            finally:
                record = _close(run, lease)
        marks.append(self.clock())
        replay, validate, close = (after - before for before, after in pairwise(marks))
        return report, record, (replay, validate, close)

    def _exercise(
        self,
        run: Run,
        report: Report,
        record: Mapping[str, Any],
        seconds: Seconds,
        lag_before: int | None,
        now: datetime,
    ) -> Exercise:
        isolation = record["isolation"]
        return Exercise(
            run=run.run_id,
            plan=run.plan,
            pipeline_class=self.loaded.pipeline.spec.pipeline_class,
            kept=self.sources.retention(now),
            isolation_held=isolation["holds"],
            group_fates=isolation["groups"],
            readers=self.sources.readers(),
            lag_before=lag_before,
            lag_after=run.lag(),
            accepted=report.verdict is Verdict.ACCEPTED,
            checks={result.check: result.outcome.value for result in report.results},
            accounted=sum(report.ledger.fates.values()),
            rows_before=report.rows_before,
            rows_after=report.digest.rows,
            changed=any(bucket.changed for bucket in report.buckets),
            same_code=same_code(self.sources.live_codes(), self.sources.code()),
            seconds=seconds,
        )

    def _close_abandoned(self) -> None:
        """Close this pipeline's drills whose process was killed."""
        for run in self.store.reader.runs(states=frozenset(State) - {State.CLOSED}):
            if is_drill_of(self.store.reader.documents(run.id).contract, self.loaded.name):
                abandoned = self.take(run.id)
                with abandoned.lease() as lease:
                    _close(abandoned, lease)

    def _ranges(self) -> Iterator[dict[str, Any]]:
        if legal_strategies(self.loaded.pipeline.spec.pipeline_class)[0].whole_table:
            return ranges_since(self.sources.snapshots(), self.sources.live_position())
        return ranges_by_partition(self.sources.filled_partitions())


def _close(run: DrillRun, lease: RunLease) -> Mapping[str, Any]:
    """Cancel the run where its state allows it, close it, and remove its staging."""
    if (run.run.state, Event.CANCEL) in TRANSITIONS:
        lease.transition(Event.CANCEL, {"reason": "a drill is never promoted"})
    return run.close(lease, datetime.now(timezone.utc))
