"""One backfill of a project, from submission to closure: what each command does, with the adapters it needs."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.checkpoints.run_folder import remove_checkpoints
from anabranch.adapters.kafka.groups import lag
from anabranch.adapters.kafka.topics import KafkaUnreachableError, describe_topic
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.approval import approval_of
from anabranch.app.capacity import capacity_surveyor
from anabranch.app.cost import cost_record, note_estimate
from anabranch.app.engine import SparkEngine
from anabranch.app.gates import gate_service
from anabranch.app.hooks import BEFORE_PROMOTE, BEFORE_REPLAY, run_hooks
from anabranch.app.isolation import certified, look_at_isolation
from anabranch.app.limits import limits_of
from anabranch.app.measurer import SparkMeasurer
from anabranch.app.pacing import replay_pacing
from anabranch.app.planning import ProjectInputs, plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.quotas import sweep_before
from anabranch.app.replay_holds import replay_holds
from anabranch.app.retention_race import restore_own, retention_guard, sweep_extensions
from anabranch.app.services import replay_services
from anabranch.app.slice_writers import run_folder, stream_folder, stream_place
from anabranch.app.targets import BackfillTarget, backfill_target
from anabranch.close.closure import Closure, closed_once, read_record, write_record
from anabranch.close.horizon import RollbackHorizon, horizon_length, rollback_horizon
from anabranch.close.isolation import Certificate, isolation_before
from anabranch.contract.backfill import Backfill as Contract
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.contract.load import load_contract, load_pipelines
from anabranch.contract.pins import declared, digest_files
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError
from anabranch.gates.approval.rollback_authority import require_rollback_authority
from anabranch.gates.collect import GateService
from anabranch.pages.report_files import write_report
from anabranch.plan.drift import Stage, drift_at, drift_of_files
from anabranch.plan.drift_errors import require_no_drift
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.request import with_control
from anabranch.plan.slices import Slice
from anabranch.plan.submission import submit, submit_once
from anabranch.promote.rollback import Rollback
from anabranch.promote.run import PromotionRun, rehearse_rollback
from anabranch.replay.allowance import RateSource
from anabranch.replay.limits import Limits
from anabranch.replay.pace_report import pace_words
from anabranch.replay.replayer import Clock, RunObserver
from anabranch.replay.run import ReplayRun
from anabranch.replay.staged import StagedRun, StoppedReplay, staged_run
from anabranch.replay.staging import StagedSlice, Staging, take_staging
from anabranch.replay.superseded import superseded_leaves_nothing
from anabranch.replay.turn import Turn
from anabranch.runs.heads import Head
from anabranch.runs.hooks import Hooks
from anabranch.runs.lease_holder import holder_name, take_run_lease
from anabranch.runs.run import Run
from anabranch.runs.run_lease import RunLease
from anabranch.validate.accepted import ValidationResult
from anabranch.validate.run import ValidationRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def operator() -> tuple[str, str]:
    """Who acts: the process, which holds leases, and the person, who is on record."""
    person = os.environ.get("ANABRANCH_ACTOR") or getpass.getuser()
    return holder_name(person), person


def submit_contract(
    project_context: ProjectContext, store: SqlRunStore, file: Path, *, now: datetime, actor: str, control: bool = False
) -> Run:
    """The active run of this very contract, or a new one of a plan made now."""
    loaded = load_contract(project_context.loaded, file)

    def submit_new() -> Run:
        planned = plan_backfill(project_context, file, now=now, control=control)
        note_estimate(project_context, store, planned, by=actor, now=now)
        return submit(store.writer, planned.plan, planned.request.contract, now=now, actor=actor)

    contract = with_control(loaded.backfill, wanted=control)
    return submit_once(store.reader, loaded.pipeline.name, contract, submit_new)


@dataclass(frozen=True)
class BackfillRun:
    """A run in hand of one process. Spark is started only by what needs it."""

    project_context: ProjectContext
    store: SqlRunStore
    run_id: str
    say: Callable[[str], object] = lambda _: None
    """Prints a progress line."""

    @property
    def run(self) -> Run:
        return self.store.reader.run(self.run_id)

    @cached_property
    def plan(self) -> Plan:
        return read_plan(self.store.reader.documents(self.run_id).plan)

    @cached_property
    def contract(self) -> Contract:
        document = self.store.reader.documents(self.run_id).contract
        return Contract.model_validate(document, context=self.project_context.loaded.surroundings)

    @cached_property
    def pipeline(self) -> Pipeline:
        return load_pipelines(self.project_context.loaded)[self.plan.pipeline].pipeline

    @cached_property
    def target(self) -> BackfillTarget:
        return backfill_target(
            self.project_context,
            self.plan,
            self.pipeline,
            lambda: self._spark,
            lambda: self._engine.writer(self.say),
        )

    @property
    def gates(self) -> GateService:
        return gate_service(
            self.project_context,
            self.store,
            self.plan,
            self.contract,
            self.pipeline,
            operator()[1],
            self.run_id,
            self.say,
        )

    @property
    def folder(self) -> Path:
        """Where people find what the run has left: the validation's page, the closure record."""
        return run_folder(self.project_context, self.run_id)

    @contextmanager
    def lease(self) -> Iterator[RunLease]:
        """The run's lease. One whose process has ended is not waited for: its epoch is refused from then on.

        Quotas that ended processes left at the brokers are removed first, of all runs of this control database.
        """
        with (
            take_run_lease(self.store, self.run_id, *operator()) as lease,
            superseded_leaves_nothing(lease, self.target),
        ):
            sweep_before(self.project_context, self.store, lease.actor, self.say)
            sweep_extensions(self.project_context, self.store, operator(), self.say, self.say, besides=self.run_id)
            try:
                yield lease
            finally:
                restore_own(self.project_context, lease, self.say)

    def staging(self, lease: RunLease, *, control: bool = False) -> Staging:
        return take_staging(lease, self.plan, self.target, control=control)

    def staged(self, staging: Staging) -> Sequence[StagedSlice]:
        return self.target.staged_slices(staging.name, self.plan.staging_base)

    def replay(self, lease: RunLease, watch: RunObserver) -> StagedRun | StoppedReplay:
        """Replay the slices that are not in staging yet, in its turn and after drift, limits and gates are checked."""
        with replay_holds(self.project_context, self.store, lease) as holds:
            return self._replay_run(lease, watch, holds)()

    def validate(
        self, lease: RunLease, now: datetime, phase: Callable[[str], None] = lambda _: None
    ) -> ValidationResult:
        """Judge staging as it is now, put the verdict on record, and file the report."""
        return self._validation_run(lease)(staged_run(lease, self.plan, self.target), now, phase)

    def rehearse_rollback(self, lease: RunLease, say: Callable[[str], object] = lambda _: None) -> None:
        """Rehearse promotion and rollback on a scratch branch, unless evidence of it on this table is still valid."""
        rehearse_rollback(lease, self.plan, self.gates, say)

    def promote(self, lease: RunLease, watch: RunObserver, now: datetime) -> Head:
        """Catch up with live where it committed into the range by other code, then commit the run to production."""
        return PromotionRun(
            lease,
            self.plan,
            self.target,
            lambda: self.gates,
            require_no_drift=self._require_no_drift,
            require_within_limits=lambda: self._limits(lease).require_for_promotion(),
            hooks=lambda: self._hooks(lease.actor, watch.notice).around("Promote", BEFORE_PROMOTE),
            approve=lambda staging: approval_of(self).require(lease, self.target, staging, now),
            catch_up=lambda slices: self._catch_up(lease, watch, slices),
            validate=lambda staged: self._validation_run(lease)(staged, now, watch.phase),
            clock=time.time,
        )()

    def _catch_up(self, lease: RunLease, watch: RunObserver, slices: Sequence[Slice]) -> StagedRun:
        with replay_holds(self.project_context, self.store, lease) as holds:
            return self._replay_run(lease, watch, holds).catch_up(slices)

    def _replay_run(self, lease: RunLease, watch: RunObserver, holds: Sequence[RateSource]) -> ReplayRun:
        client_id = f"{REPLAY_PREFIX}-{self.run_id}"
        table = self.plan.target.table
        return ReplayRun(
            lease,
            self.plan,
            self.target,
            watch,
            lambda: self.gates,
            self._engine,
            inputs=ProjectInputs(self.project_context, self.pipeline, self.plan),
            limits=lambda: self._limits(lease),
            observe_isolation=lambda: look_at_isolation(self.project_context, self.pipeline),
            copy_checkpoint=lambda epoch, staged: stream_folder(self.project_context, self.plan, self.run_id).of(
                epoch, staged
            ),
            watch_services=lambda: replay_services(
                self.project_context, lease, watch, table, client_id, self._engine.cancel_jobs
            ),
            clock=Clock(time.monotonic, time.sleep),
            pacing=lambda: replay_pacing(self.project_context, lease, self.plan, self.pipeline, watch, holds),
            turn=Turn(lease, holds, watch, time.sleep),
            hooks=lambda: self._hooks(lease.actor, watch.notice).around("Replay", BEFORE_REPLAY),
            retention=lambda: retention_guard(
                self.project_context, self.store, lease, self.plan, self.contract, watch.notice
            ),
        )

    def _validation_run(self, lease: RunLease) -> ValidationRun:
        return ValidationRun(
            lease,
            lambda: self.contract,
            self.pipeline,
            self.target,
            measure=SparkMeasurer(
                self.project_context, self.plan, lambda: self.contract, self.pipeline, self.run_id, self._start_spark
            ),
            file_report=lambda report: write_report(report, self.project_context.state),
            require_same_checks=self._require_same_checks,
        )

    def _limits(self, lease: RunLease) -> Limits:
        return limits_of(self.project_context, lease, self.plan, self.contract)

    @property
    def _engine(self) -> SparkEngine:
        return SparkEngine(self.project_context, self.plan, self.pipeline, self.run_id, self._start_spark)

    def roll_back(self, lease: RunLease, override: str | None = None) -> Head:
        """Take the run out again; by rows, on Spark, only where its files were rewritten since.

        `override` is the reason of somebody whom the roles don't name, and goes on record.
        """
        require_rollback_authority(lease, self.project_context.loaded.settings.roles, override)

        return Rollback(lease, self.target, self.staging(lease))()

    @property
    def rollback_horizon(self) -> RollbackHorizon | None:
        """The horizon of the promotion that production has. None: closing the run gives up no rollback."""
        length = horizon_length(self.store.reader.documents(self.run_id).contract)
        return rollback_horizon(self.run.state, self.store.reader.journal(self.run_id), length)

    def close(self, lease: RunLease, now: datetime, *, forfeit: str | None = None) -> Mapping[str, object]:
        """Write the closure record and remove staging. `forfeit`: why a promotion is closed within its horizon."""
        file = self.folder / "closure.json"

        def keep(record: Mapping[str, object]) -> None:
            write_record(file, record)
            remove_checkpoints(stream_place(self.project_context, self.run_id))

        restore_own(self.project_context, lease, self.say)
        closure = Closure(
            lease,
            self.plan,
            self.target,
            certify=lambda: self._certificate(lease),
            cost=lambda: cost_record(self.project_context, lease.reader, self.plan, self.run_id, self.contract),
            keep=keep,
            horizon=horizon_length(lease.reader.documents(self.run_id).contract),
            now=now,
            look_at_capacity=capacity_surveyor(self.project_context, lease, self.plan.target.table),
            forfeit=forfeit,
        )
        record = closed_once(closure, lambda: read_record(file))
        self._hooks(lease.actor, self.say).after("afterClose", "closed")
        return record

    def _hooks(self, actor: str, notice: Callable[[str], object]) -> Hooks:
        return run_hooks(self.project_context, self.store, self.run_id, self.plan, actor, notice)

    @cached_property
    def _spark(self) -> SparkSession:
        return self.project_context.spark(f"anabranch {self.run_id}")

    def _start_spark(self, phase: Callable[[str], None]) -> SparkSession:
        """The session, and word of it if that has to be started first."""
        if "_spark" not in self.__dict__:
            phase("starting Spark")
        return self._spark

    def _require_no_drift(self) -> None:
        """Before promotion: what the plan pins and staged rows still depend on has not changed."""
        present = ProjectInputs(self.project_context, self.pipeline, self.plan).now()
        require_no_drift(self.plan, drift_at(self.plan, present, Stage.STAGED))

    def _require_same_checks(self) -> None:
        files = digest_files(self.project_context.folder, self.plan.files)
        require_no_drift(self.plan, drift_of_files(self.plan, declared(self.pipeline), files))

    def pace_words(self) -> str | None:
        """What limits the replay now, and why; None: nothing does, or the control database does not answer."""
        with suppress(AnabranchError):
            return pace_words(self.store.reader.pace(self.run_id))
        return None

    def lag(self) -> int | None:
        """How far live is behind, in offsets."""
        client = self.project_context.kafka.client(REPLAY_PREFIX)
        with suppress(KafkaUnreachableError):  # what does not answer is reported by who watches the services
            return lag(client, self.pipeline.spec.consumer_group, describe_topic(client, self.plan.source.topic))
        return None

    def _certificate(self, lease: RunLease) -> Certificate:
        before = isolation_before(lease.reader.journal(self.run_id))
        return certified(self.project_context, self.pipeline, self.plan, before, self.target.authors(self.run_id))
