"""A readiness drill: a small range of a pipeline replayed beside production, validated, measured, never promoted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

from anabranch.adapters.iceberg.code_versions import live_code_digests
from anabranch.adapters.iceberg.live import last_live_commit
from anabranch.adapters.iceberg.partition_stats import filled_partitions
from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.adapters.iceberg.states import states
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.backfill import BackfillRun, submit
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.readers import find_readers
from anabranch.app.retention import audit_retention
from anabranch.contract.code import code_digest
from anabranch.contract.load import LoadedPipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.evidence import keep_evidence
from anabranch.gates.stakes import DRILL_LABEL
from anabranch.plan.planner import EmptyRangeError, Planned
from anabranch.plan.preconditions import RetentionPassedError
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.event_windows import WindowsOpenError
from anabranch.plan.strategies.strategy import legal_strategies
from anabranch.project.atomic_write import atomic_write
from anabranch.project.model import API_VERSION
from anabranch.project.quantities import format_moment
from anabranch.readiness.drill_report import COUNTS_FOR, KIND, DrillReport, Exercise, Seconds, answer
from anabranch.replay.replayer import ReplayEnd, RunObserver, SliceDone, SliceProgress
from anabranch.runs.canonical import instant
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import TRANSITIONS, Event, State
from anabranch.validate.report import Report, Verdict

CANDIDATES = 10
"""How many of the last partitions are looked at for a small one."""
NEXT_MAY_DO = (WindowsOpenError, EmptyRangeError, RetentionPassedError)
"""Reasons why one partition can't be drilled with that say nothing of the one before it."""


class DrillImpossibleError(AnabranchError):
    code = "drill.impossible"
    exit_code = ExitCode.REFUSED


class DrillStoppedError(AnabranchError):
    code = "drill.stopped"
    exit_code = ExitCode.INTERRUPTED


@dataclass
class _Measuring:
    """Passes progress on, and adds up what the slices took."""

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


@dataclass(frozen=True)
class Drill:
    project_context: ProjectContext
    store: SqlRunStore
    loaded: LoadedPipeline
    take: Callable[[str], BackfillRun]
    """A run in hand, by its id."""
    actor: str
    clock: Callable[[], float] = time.monotonic

    def __call__(self, watch: Callable[[BackfillRun], RunObserver], now: datetime) -> DrillReport:
        """Carry it out and keep what was found. However it ends, the run is closed and its staging removed."""
        self._clear_away()
        started = self.clock()
        planned = self.plan(now)
        plan_seconds = self.clock() - started
        run = submit(self.store, planned.plan, planned.request.contract, now=now, actor=self.actor)
        backfill = self.take(run.id)
        lag_before = backfill.lag()
        measuring = _Measuring(watch(backfill))
        report, record, (replay, validate, close) = self._carry_out(backfill, measuring, now)
        seconds = Seconds(plan_seconds, replay, measuring.seconds, validate, close)
        found = answer(self._exercise(backfill, report, record, seconds, lag_before, now))
        keep_evidence(
            self.store.writer,
            KIND,
            f"pipeline/{self.loaded.name}",
            found.document(),
            by=self.actor,
            good_until=now + COUNTS_FOR,
            run_id=run.id,
        )
        return found

    def _carry_out(
        self, backfill: BackfillRun, watch: RunObserver, now: datetime
    ) -> tuple[Report, Mapping[str, Any], tuple[float, float, float]]:
        marks = [self.clock()]
        with backfill.lease() as lease:
            try:
                if backfill.replay(lease, watch) is not ReplayEnd.STAGED:
                    raise DrillStoppedError(
                        f"The drill of {self.loaded.name} was stopped.",
                        state="Production was not touched; what was staged is removed.",
                        command=f"anabranch drill {self.loaded.name}",
                    )
                marks.append(self.clock())
                report = backfill.validate(lease, now)
                marks.append(self.clock())
            finally:
                record = _end(backfill, lease)
        marks.append(self.clock())
        replay, validate, close = (after - before for before, after in pairwise(marks))
        return report, record, (replay, validate, close)

    def _exercise(
        self,
        backfill: BackfillRun,
        report: Report,
        record: Mapping[str, Any],
        seconds: Seconds,
        lag_before: int | None,
        now: datetime,
    ) -> Exercise:
        pipeline, topic = self.loaded.pipeline, self.loaded.pipeline.spec.source.topic
        kept = audit_retention(self.project_context, now=now, only=(topic,)).topics
        isolation = record["isolation"]
        return Exercise(
            run=backfill.run_id,
            plan=backfill.plan,
            pipeline_class=pipeline.spec.pipeline_class,
            kept=kept[0] if kept else None,
            isolation_held=isolation["holds"],
            group_fates=isolation["groups"],
            readers=find_readers(self.project_context, pipeline),
            lag_before=lag_before,
            lag_after=backfill.lag(),
            accepted=report.verdict is Verdict.ACCEPTED,
            checks={result.check: result.outcome.value for result in report.results},
            accounted=sum(report.ledger.fates.values()),
            rows_before=report.rows_before,
            rows_after=report.digest.rows,
            changed=any(bucket.changed for bucket in report.buckets),
            same_code=self._same_code(),
            seconds=seconds,
        )

    def _same_code(self) -> bool | None:
        codes = live_code_digests(self._target().load(), self.loaded.name)
        return None if not codes else codes == (code_digest(self.project_context.folder, self.loaded.pipeline),)

    def _target(self) -> IcebergTarget:
        return IcebergTarget(self.project_context.catalog.open(), self.loaded.pipeline.spec.target.table)

    def _clear_away(self) -> None:
        """Close the drills of this pipeline whose process ended in the middle."""
        for run in self.store.reader.runs(states=frozenset(State) - {State.CLOSED}):
            metadata: Any = self.store.reader.documents(run.id).contract.get("metadata", {})
            if metadata.get("labels", {}).get(DRILL_LABEL) == self.loaded.name:
                backfill = self.take(run.id)
                with backfill.lease() as lease:
                    _end(backfill, lease)

    def plan(self, now: datetime) -> Planned:
        """The plan of the first range, of those that would do, that can be replayed."""
        refused: PlanRefusedError | None = None
        file = self.project_context.state / "drills" / f"{self.loaded.name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        for request in self._ranges():
            atomic_write(file, json.dumps(self._contract(request), indent=2) + "\n")
            try:
                return plan_backfill(self.project_context, file, now=now)
            except NEXT_MAY_DO as error:
                refused = error
        raise DrillImpossibleError(
            f"There is nothing to drill {self.loaded.name} with: "
            + ("its table has no rows of a finished partition." if refused is None else refused.what),
            state=NOTHING_CHANGED,
            hint=f"let live write some more (`anabranch live status {self.loaded.name}`), then drill again",
        ) from refused

    def _ranges(self) -> Iterator[dict[str, Any]]:
        """Small ranges, the best first: whole partitions, or what came after a late state of the table."""
        table, spec = self._target().load(), self.loaded.pipeline.spec
        newest = last_live_commit(table, self.loaded.name)
        if legal_strategies(spec.pipeline_class)[0].whole_table:
            here = {} if newest is None else newest.position
            for state in states(table, self.loaded.name):
                if state.position != here:
                    yield {"sinceSnapshot": snapshot_of(state.snapshot)}
            yield {"everything": True}
            return
        told = None if newest is None else newest.event_time
        filled = filled_partitions(table, None if told is None else instant(told))
        # Into the newest partition live may still be writing; it is the last choice.
        for part, _ in (*sorted(filled[1 : CANDIDATES + 1], key=lambda each: each[1]), *filled[:1]):
            yield {"eventTime": {"from": format_moment(part.start), "to": format_moment(part.end)}}

    def _contract(self, request: Mapping[str, Any]) -> dict[str, Any]:
        name, owner = self.loaded.name, self.loaded.pipeline.spec.owner
        return {
            "apiVersion": API_VERSION,
            "kind": "Backfill",
            "metadata": {"name": f"drill-{name}"[:63].rstrip("-"), "labels": {DRILL_LABEL: name}},
            "spec": {
                "pipeline": name,
                "reason": "A readiness drill: replayed beside production and measured, never promoted.",
                "owner": owner,
                "range": dict(request),
                "rollback": {"authority": owner},
            },
        }


def _end(backfill: BackfillRun, lease: RunLease) -> Mapping[str, Any]:
    """Give the run up, whatever state it is in, and remove its staging."""
    if (backfill.run.state, Event.CANCEL) in TRANSITIONS:
        lease.transition(Event.CANCEL, {"reason": "a drill is never promoted"})
    return backfill.close(lease, datetime.now(timezone.utc))
