"""One backfill of a project, from submission to closure: what each command does, with the adapters it needs."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.groups import lag
from anabranch.adapters.kafka.topics import KafkaUnreachableError, describe_topic
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.approval import approved_run, require_rollback_authority
from anabranch.app.control import with_control
from anabranch.app.cost import cost_record, note_estimate
from anabranch.app.gates import WAY_BACK, GateService
from anabranch.app.isolation import certified, look_at_isolation
from anabranch.app.limits import limits_of
from anabranch.app.planning import DriftGuard, ProjectInputs, plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.service_probes import replay_services
from anabranch.app.slice_writers import control_writer, run_folder, slice_writer, stream_folder
from anabranch.app.targets import backfill_target
from anabranch.close.closure import Closure
from anabranch.close.horizon import RollbackHorizon, horizon_length, rollback_horizon
from anabranch.close.isolation import REPLAY_PREFIX, Certificate
from anabranch.contract.backfill import Backfill as Contract
from anabranch.contract.load import load_contract, load_pipelines
from anabranch.contract.pins import declared, digest_files
from anabranch.contract.pipeline import Pipeline
from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.drift import Drift, Stage, drift_at, drift_of_files, forbids
from anabranch.plan.drift_errors import describe, require_no_drift
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.request import contract_hash
from anabranch.plan.slices import Ranges, Slice, ranges_of
from anabranch.plan.steps import (
    CatchUp,
    ControlSlice,
    CopyCheckpoint,
    MakeControlStaging,
    MakeStaging,
    PassGates,
    Promote,
    RecordIsolation,
    RehearseRollback,
    ReplaySlice,
    SliceStep,
    StageFromSnapshot,
    slice_steps,
    steps_for,
)
from anabranch.project.model import as_plain
from anabranch.promote.catch_up import missed, reached
from anabranch.promote.commit import Act, already_done
from anabranch.promote.history import Author
from anabranch.promote.promotion import Promotion, StagingBehindLiveError
from anabranch.promote.rollback import Rollback
from anabranch.promote.validations import ever_accepted
from anabranch.replay.ledger import CATCH_UP, SliceAccount
from anabranch.replay.replayer import Clock, ReplayEnd, Replayer, ReplayVariant, RunObserver, SliceWriter
from anabranch.replay.staging import StagedSlice, Staging, newest, take_staging
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.lease_holder import holder_name, is_gone, lease_time
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun, Run
from anabranch.runs.run_lease import RunLease, acquire_run_lease
from anabranch.runs.states import ACTIVE, Event, State
from anabranch.validate.attribution import ControlStaging
from anabranch.validate.report import Report, Verdict, require_accepted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIDWAY = frozenset({State.REPLAYING, State.PAUSED, State.FAILED, State.STAGED})

CATCH_UP_ROUNDS = 5
"""How often to catch up with live before a promotion. Each round is shorter than the one before."""
LIVE_PAUSE_SECONDS = 60
"""How long live is asked to wait, where each of its commits has to be replayed before a promotion."""


class CatchUpStoppedError(AnabranchError):
    code = "promote.catch-up-stopped"
    exit_code = ExitCode.INTERRUPTED


def operator() -> tuple[str, str]:
    """Who acts: the process, which holds leases, and the person, who is on record."""
    person = os.environ.get("ANABRANCH_ACTOR") or getpass.getuser()
    return holder_name(person), person


def submit(store: SqlRunStore, plan: Plan, contract: Mapping[str, object], *, now: datetime, actor: str) -> Run:
    """The run of this plan: a new one, or the active one that the same contract led to."""
    target = plan.target
    run_id = f"{now:%Y%m%d-%H%M%S}-{plan.hash[:6]}"
    claim = TargetRange(target.table, target.partitions.start, target.partitions.end)
    new = NewRun(run_id, plan.pipeline, claim, plan.contract, plan.hash, actor, contract, plan.document())
    return store.writer.submit(new, actor=actor).run


def submit_contract(
    project_context: ProjectContext, store: SqlRunStore, file: Path, *, now: datetime, actor: str, control: bool = False
) -> Run:
    """The active run of this very contract, or a new one of a plan made now.

    So that the same command goes on with what it began, whatever has changed in the table since.
    """
    contract = load_contract(project_context.loaded, file)
    wanted = contract_hash(as_plain(with_control(contract.backfill, wanted=control)))
    for run in store.reader.runs(states=ACTIVE):
        if run.contract_hash == wanted and run.pipeline == contract.pipeline.name:
            return run
    planned = plan_backfill(project_context, file, now=now, control=control)
    note_estimate(project_context, store, planned, by=actor, now=now)
    return submit(store, planned.plan, planned.request.contract, now=now, actor=actor)


@dataclass(frozen=True)
class BackfillRun:
    """A run in hand of one process. Spark is started only by what needs it."""

    project_context: ProjectContext
    store: SqlRunStore
    run_id: str
    say: Callable[[str], object] = lambda _: None
    """Shows a line to whoever waits."""

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
    def target(self) -> IcebergTarget:
        return backfill_target(self.project_context, self.plan, self.pipeline, lambda: self._spark, self._writer)

    @property
    def gates(self) -> GateService:
        return GateService(
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
        """The run's lease. One whose process has ended is not waited for: its epoch is refused from then on."""
        holder, actor = operator()
        former = self.store.reader.lease(self.run_id).holder
        gone = former is not None and is_gone(former)
        with (
            acquire_run_lease(
                self.store, self.run_id, holder=holder, actor=actor, ttl=lease_time(), take_over=gone
            ) as lease,
            self._superseded_leaves_nothing(lease),
        ):
            yield lease

    @contextmanager
    def _superseded_leaves_nothing(self, lease: RunLease) -> Iterator[None]:
        """Whatever a superseded process fails with, that it was superseded is the reason; and it tidies up."""
        try:
            yield
        except Exception as error:
            try:
                lease.check_epoch()
            except SupersededError as superseded:
                unused = self.run.state in (State.CLOSING, State.CLOSED)
                self.target.remove_stray(self.run_id, lease.epoch, unused=unused)
                raise superseded from (None if isinstance(error, SupersededError) else error)
            except AnabranchError:
                pass  # that the database does not answer comes second to what failed
            raise

    def staging(self, lease: RunLease, *, control: bool = False) -> Staging:
        return take_staging(lease, self.plan, self.target, control=control)

    def staged(self, staging: Staging) -> list[StagedSlice]:
        return self.target.staged_slices(staging.name, self.plan.root)

    def replay(self, lease: RunLease, watch: RunObserver) -> ReplayEnd:
        """Execute the replay's steps of the plan, in the order of its list; slices in staging are not replayed again.

        Where drift, limits or gates refuse, no branch was made, Spark was not started and no user code was loaded.
        """
        steps = steps_for(self.plan, "replay")
        slices = slice_steps(steps)
        guard = self._guard(lease, slices)
        limits = limits_of(self.project_context, lease, self.plan, self.contract)
        lanes: list[ReplayVariant] = []
        with ExitStack() as meanwhile:
            for step in steps:
                match step:
                    case PassGates():
                        watch.phase("checking drift, limits and gates")
                        with lease.performing(step.name):
                            guard.check()
                            limits.require_open()
                            self.gates.require_for_replay()
                    case RecordIsolation():
                        self._record_isolation(lease, step)
                        self._start_spark(watch.phase)
                        watch.phase("loading the transform")
                        writers = self._writers(control=self.plan.control is not None)
                        meanwhile.enter_context(self._preparing(writers.values(), slices))
                    case MakeStaging() | StageFromSnapshot() | MakeControlStaging():
                        control = isinstance(step, MakeControlStaging)
                        watch.phase("preparing the control's staging" if control else "preparing staging")
                        with lease.performing(step.name) as details:
                            staging = self.staging(lease, control=control)
                            details["staging"] = staging.name
                        name = ControlSlice.name if control else ReplaySlice.name
                        lanes.append(ReplayVariant(name, staging, writers[name]))
                    case CopyCheckpoint():
                        with lease.performing(step.name):
                            self._copy_checkpoint(lease)
                    case ReplaySlice() | ControlSlice():
                        break
                    case _:
                        raise AssertionError(f"step {step.name} is not one of the replay")
        return self._replayer(lease, watch, lanes, guard, limits.bytes_per_second, limits)(slices)

    def _replay_missed(self, lease: RunLease, watch: RunObserver, missed_slices: Sequence[Slice]) -> None:
        """Replay what live committed after the base. The step is `catch-up`; a control has no part in it."""
        slices = tuple(ReplaySlice(slice_) for slice_ in missed_slices)
        guard = self._guard(lease, slices)
        watch.phase("catching up with live")
        guard.check()
        self._start_spark(watch.phase)
        writer = self._writer()
        with self._preparing([writer], slices):
            lane = ReplayVariant(ReplaySlice.name, self.staging(lease), writer)
        rate = limits_of(self.project_context, lease, self.plan, self.contract).bytes_per_second
        # The schedule and the budget were checked when the promotion began.
        end = self._replayer(lease, watch, [lane], guard, rate, lambda: None)(slices)
        if end is not ReplayEnd.STAGED:
            raise CatchUpStoppedError(
                f"Run {self.run_id} was {end.value} while it caught up with live; it was not promoted.",
                state=f"{self.plan.target.table} is unchanged by run {self.run_id}; staging is kept.",
                command=f"anabranch {'promote' if end is ReplayEnd.PAUSED else 'close'} {self.run_id}",
                run=self.run_id,
                end=end.value,
            )

    def _replayer(
        self,
        lease: RunLease,
        watch: RunObserver,
        lanes: Sequence[ReplayVariant],
        guard: DriftGuard,
        bytes_per_second: int | None,
        limits: Callable[[], ReplayEnd | None],
    ) -> Replayer:
        clock = Clock(time.monotonic, time.sleep)
        services = replay_services(
            self.project_context,
            lease,
            watch,
            self.plan.target.table,
            f"{REPLAY_PREFIX}-{self.run_id}",
            self._cancel_jobs,
        )
        return Replayer(
            lease, self.plan, self.target, tuple(lanes), guard, watch, clock, bytes_per_second, limits, services
        )

    def _cancel_jobs(self) -> None:
        """End what Spark is waiting with. A slice whose commit was made meanwhile is found in staging later."""
        self._spark.sparkContext.cancelAllJobs()

    def _guard(self, lease: RunLease, slices: Sequence[SliceStep]) -> DriftGuard:
        return DriftGuard(
            self.plan,
            ProjectInputs(self.project_context, self.pipeline, self.plan),
            wanted=ranges_of(step.slice for step in slices),
            needed=lambda: self._needed(slices),
            flag=lambda drift: self._flag(lease, drift),
        )

    def _copy_checkpoint(self, lease: RunLease) -> None:
        stream = stream_folder(self.project_context, self.plan, self.run_id)
        if stream is not None:
            stream.of(lease.epoch, len(self._staged_ids(control=False)))

    def validate(self, lease: RunLease, now: datetime, phase: Callable[[str], None] = lambda _: None) -> Report:
        """Judge staging as it is now, put the verdict on record, and leave the page where people find it.

        Refused if the pipeline or a file of a check is not as the plan pins it, before measuring and after. `phase` is
        called with what is being measured.
        """
        from anabranch.adapters.spark.session.jvm import jvm_death_reported
        from anabranch.adapters.spark.validate.measures import measure
        from anabranch.pages.report_files import keep
        from anabranch.validate.verdict import reach_verdict

        self._require_same_checks()
        staging = self.staging(lease)
        lease.abandon_intents("validate", "its process ended")
        number = lease.number("validate")
        entry = lease.record_intent("validate", {"staging": staging.head}, intent=f"{self.run_id}-validate-{number}")
        reach("validate.before")
        unchanged = "Production and staging are unchanged."
        with jvm_death_reported(unchanged, f"anabranch validate {self.run_id}"):
            measures = measure(
                self._start_spark(phase),
                self.project_context.catalog.name,
                self.plan.target.table,
                self.plan,
                staging.head,
                self.contract,
                self.pipeline,
                self.project_context.folder,
                schema=schema_digest(self.target.load()),
                control=self._control(lease, staging),
                phase=phase,
            )
        self._require_same_checks()
        accounts = self._accounts(staging)
        report = reach_verdict(measures, self.plan, self.contract, self.pipeline, accounts, run=self.run_id, at=now)
        lease.check_epoch()
        keep(report, self.project_context.state)
        reach("validate.after")
        accepted = report.verdict is Verdict.ACCEPTED
        said = {"staging": staging.head, "verdict": report.verdict.value, "digest": report.digest.text}
        lease.record_outcome(entry, Outcome.SUCCEEDED, said)
        lease.transition(Event.ACCEPT if accepted else Event.REJECT, said)
        return report

    def rehearse_rollback(self, lease: RunLease, say: Callable[[str], object] = lambda _: None) -> None:
        """Rehearse promotion and rollback on a scratch branch, unless evidence of it on this table is still valid."""
        for step in steps_for(self.plan, "rehearse-rollback"):
            with lease.performing(step.name) as details:
                details["measured"] = bool(self.gates.measure(say, WAY_BACK))

    def promote(self, lease: RunLease, watch: RunObserver, now: datetime) -> Head:
        """Catch up with live where it committed into the range by other code, then commit the run to production."""
        self._require_no_drift()
        if self.run.state not in (State.PROMOTING, State.PROMOTED):
            limits_of(self.project_context, lease, self.plan, self.contract).require_for_promotion()
            if self.gates.due(WAY_BACK) or not self._performed(lease, RehearseRollback.name):
                self.rehearse_rollback(lease)
            self.gates.require_for_promotion()
        try:
            snapshot = self._promote_in_rounds(lease, watch, now)
        except BaseException:
            with suppress(Exception):  # what failed is the error to report; the pause ends by itself
                self.target.release_live_pause(self.run_id)
            raise
        self.target.release_live_pause(self.run_id)
        return snapshot

    def _promote_in_rounds(self, lease: RunLease, watch: RunObserver, now: datetime) -> Head:
        for number in range(CATCH_UP_ROUNDS):
            try:
                return self._catch_up_and_promote(lease, watch, now, number)
            except StagingBehindLiveError as error:
                behind = error
        raise behind

    def _catch_up_and_promote(self, lease: RunLease, watch: RunObserver, now: datetime, number: int) -> Head:
        """Execute the promotion's steps of the plan. Raises BehindError where live commits into the range meanwhile."""
        self._finish_catching_up(lease, watch, now)
        promoted = None
        self.staging(lease)  # the fence: a commit of an earlier epoch can land no more after it
        done = already_done(lease, self.target, Act.PROMOTE)
        if done is not None:
            return done  # to find out what has happened needs nobody's approval
        for step in steps_for(self.plan, "promote"):
            match step:
                case CatchUp():
                    with lease.performing(step.name) as details:
                        details["slices"] = self._catch_up(lease, watch, now, number)
                case Promote():
                    promoted = self._promotion(lease, now)()
                case _:
                    raise AssertionError(f"step {step.name} is not one of the promotion")
        if promoted is None:
            raise AssertionError(f"the plan of run {self.run_id} has no step that promotes it")
        return promoted

    def _promotion(self, lease: RunLease, now: datetime) -> Promotion:
        """The promotion of staging as it is now, if it is validated and approved."""
        staging = self.staging(lease)
        approved = approved_run(self, lease, staging, now)
        caught = frozenset[Head]()
        if not self.plan.strategy.whole_table:
            caught = frozenset(Head(each.slice_id[len(CATCH_UP) :]) for each in self._catch_ups(staging))
        return Promotion(lease, self.target, approved, staging, caught, reached(self.plan, self.staged(staging)))

    def _catch_up(self, lease: RunLease, watch: RunObserver, now: datetime, number: int) -> int:
        """Replay and validate what live committed into the range that staging does not contain. Returns the slices."""
        promotion = self._promotion(lease, now)
        behind = promotion.behind()
        if behind is None:
            return 0
        if number:
            # The first round may take long. After it there is little left, and live can wait for that.
            self.target.request_live_pause(self.run_id, round(time.time()) + LIVE_PAUSE_SECONDS)
        slices = missed(self.plan, behind.commits, promotion.reached)
        self._replay_missed(lease, watch, slices)
        require_accepted(self.validate(lease, now, watch.phase))
        return len(slices)

    def _finish_catching_up(self, lease: RunLease, watch: RunObserver, now: datetime) -> None:
        """Go on where a promotion ended in the middle of catching up: staging is longer than what was validated."""
        if self.run.state in MIDWAY and ever_accepted(lease.reader, self.run_id):
            self._replay_missed(lease, watch, ())
            require_accepted(self.validate(lease, now, watch.phase))

    def _performed(self, lease: RunLease, name: str) -> bool:
        journal = lease.reader.journal(self.run_id)
        return any(entry.step == name and entry.outcome is Outcome.SUCCEEDED for entry in journal)

    def roll_back(self, lease: RunLease, override: str | None = None) -> Head:
        """Take the run out again; by rows, on Spark, only where its files were rewritten since.

        `override` is the reason of somebody whom the roles don't name, and goes on record.
        """
        require_rollback_authority(self, lease, override)

        return Rollback(lease, self.target, self.staging(lease))()

    @property
    def rollback_horizon(self) -> RollbackHorizon | None:
        """The horizon of the promotion that production has. None: closing the run gives up no rollback."""
        length = horizon_length(self.store.reader.documents(self.run_id).contract)
        return rollback_horizon(self.run.state, self.store.reader.journal(self.run_id), length)

    def close(self, lease: RunLease, now: datetime, *, forfeit: str | None = None) -> Mapping[str, object]:
        """Write the closure record and remove staging. `forfeit`: why a promotion is closed within its horizon."""
        from anabranch.close.record import read_record, write_record

        def keep(record: Mapping[str, object]) -> None:
            write_record(self.folder / "closure.json", record)
            stream = stream_folder(self.project_context, self.plan, self.run_id)
            if stream is not None:
                stream.remove()

        if self.run.state is State.CLOSED:
            return read_record(self.folder / "closure.json")
        return Closure(
            lease,
            self.plan,
            self.target,
            certify=lambda: self._certificate(lease),
            cost=lambda: cost_record(self.project_context, lease.reader, self.plan, self.run_id, self.contract),
            keep=keep,
            horizon=horizon_length(lease.reader.documents(self.run_id).contract),
            now=now,
            forfeit=forfeit,
        )()

    @cached_property
    def _spark(self) -> SparkSession:
        return self.project_context.spark(f"anabranch {self.run_id}")

    def _start_spark(self, phase: Callable[[str], None]) -> SparkSession:
        """The session, and word of it if that has to be started first."""
        if "_spark" not in self.__dict__:
            phase("starting Spark")
        return self._spark

    def _writer(self) -> SliceWriter:
        return self._reporting(slice_writer(self._spark, self.project_context, self.plan, self.pipeline, self.run_id))

    def _reporting(self, writer: SliceWriter) -> SliceWriter:
        from anabranch.adapters.spark.write.reporting_writer import ReportingWriter

        return ReportingWriter(writer, self.run_id)

    def _writers(self, *, control: bool) -> dict[str, SliceWriter]:
        """By the name of their steps."""
        own = {ReplaySlice.name: self._writer()}
        if not control:
            return own
        control_ = control_writer(self._spark, self.project_context, self.plan, self.run_id)
        return {**own, ControlSlice.name: self._reporting(control_)}

    @contextmanager
    def _preparing(self, writers: Iterable[SliceWriter], slices: Sequence[SliceStep]) -> Iterator[None]:
        """Compile the first slice's query while staging is made: both take about as long.

        An error in it surfaces when the first slice is written, which compiles the query again.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="prepare") as meanwhile:
            for writer in writers if slices else ():
                meanwhile.submit(writer.prepare, slices[0].slice)
            yield

    def _control(self, lease: RunLease, staging: Staging) -> ControlStaging | None:
        """The control's rows, and staging as it was before it caught up with live: both of the plan's own offsets."""
        if self.plan.control is None:
            return None
        control = self.staging(lease, control=True)
        own = [each.head for each in self.staged(staging) if not each.slice_id.startswith(CATCH_UP)]
        return ControlStaging(control.head, own[-1] if own else staging.head, tuple(self._accounts(control)))

    def _accounts(self, staging: Staging) -> list[SliceAccount]:
        return [
            SliceAccount(Slice(each.slice_id, each.offsets), each.ledger.accounts, each.ledger.late)
            for each in self.staged(staging)
        ]

    def _catch_ups(self, staging: Staging) -> list[StagedSlice]:
        return [each for each in self.staged(staging) if each.slice_id.startswith(CATCH_UP)]

    def _require_no_drift(self) -> None:
        """Before promotion: what the plan pins and staged rows still depend on has not changed."""
        present = ProjectInputs(self.project_context, self.pipeline, self.plan).now()
        require_no_drift(self.plan, drift_at(self.plan, present, Stage.STAGED))

    def _require_same_checks(self) -> None:
        files = digest_files(self.project_context.folder, self.plan.files)
        require_no_drift(self.plan, drift_of_files(self.plan, declared(self.pipeline), files))

    def lag(self) -> int | None:
        """How far live is behind, in offsets."""
        client = self.project_context.kafka.client(REPLAY_PREFIX)
        with suppress(KafkaUnreachableError):  # what does not answer is reported by who watches the services
            return lag(client, self.pipeline.spec.consumer_group, describe_topic(client, self.plan.source.topic))
        return None

    def _needed(self, slices: Sequence[SliceStep]) -> Ranges:
        """The offsets still to be read, by either version of the code."""
        staged = {name: self._staged_ids(control=name == ControlSlice.name) for name in {step.name for step in slices}}
        needed = {step.slice.id: step.slice for step in slices if step.slice.id not in staged[step.name]}
        return ranges_of(needed.values())

    def _staged_ids(self, *, control: bool) -> set[str]:
        """The slices in the newest staging branch of the run, or of its control. Makes no branch."""
        found = newest(self.target.stagings(self.run_id, control=control))
        if found is None:
            return set()
        return {staged.slice_id for staged in self.target.staged_slices(found.name, self.plan.root)}

    def _flag(self, lease: RunLease, drift: Drift) -> None:
        if not forbids(drift):
            self._once(lease, "drift.noticed", describe(drift))

    def _once(self, lease: RunLease, action: str, words: str) -> None:
        said = [record for record in lease.reader.audit(run_id=self.run_id) if record.action == action]
        if not any(words in record.details for record in said):
            lease.writer.record_act(action, actor=lease.actor, run_id=self.run_id, details={"what": words})

    def _record_isolation(self, lease: RunLease, step: RecordIsolation) -> None:
        """Once, before the user's code is loaded and the first record is read: the certificate is compared with it."""
        if not any(entry.step == step.name for entry in lease.reader.journal(self.run_id)):
            seen = look_at_isolation(self.project_context, self.pipeline)
            lease.record_outcome(
                lease.record_intent(step.name, seen, intent=f"{self.run_id}-{step.name}"), Outcome.SUCCEEDED
            )

    def _certificate(self, lease: RunLease) -> Certificate:
        entry = next((e for e in lease.reader.journal(self.run_id) if e.step == RecordIsolation.name), None)
        before = {} if entry is None else entry.details
        return certified(self.project_context, self.pipeline, self.plan, before, main_untouched=self._main_untouched())

    def _main_untouched(self) -> bool:
        """Whether every commit of this run on main is a promotion or a rollback."""
        return self.target.authors(self.run_id) <= {Author.PROMOTION, Author.ROLLBACK}
