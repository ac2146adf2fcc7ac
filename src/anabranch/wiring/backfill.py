"""One backfill of a project, from submission to closure: what each command does, with the adapters it needs."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.iceberg.whole import WholeTarget
from anabranch.adapters.kafka.groups import lag
from anabranch.adapters.kafka.topics import describe_topic
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.close.closure import Closure
from anabranch.close.horizon import RollbackHorizon, horizon_length, rollback_horizon
from anabranch.close.isolation import REPLAY_PREFIX, Certificate
from anabranch.contract.backfill import Backfill as Contract
from anabranch.contract.code import code_digest
from anabranch.contract.load import load_contract, load_pipelines
from anabranch.contract.pipeline import Pipeline
from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError
from anabranch.plan.asked import contract_hash
from anabranch.plan.drift import CodeChanged, Drift, LookupGone, check_drift, describe, forbids, require_no_drift
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.slices import Ranges, Slice, ranges_of
from anabranch.project.model import as_plain
from anabranch.promote.commit import Act, already_done
from anabranch.promote.history import Author
from anabranch.promote.promotion import BehindError, Promotion
from anabranch.promote.rollback import Rollback
from anabranch.promote.target import CommitNote
from anabranch.replay.ledger import CATCH_UP, SliceAccount
from anabranch.replay.replayer import Clock, End, Lane, Replayer, SliceWriter, Watch
from anabranch.replay.staging import StagedSlice, Staging, epoch_of, take_staging
from anabranch.runs.hold import Hold, holding
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun, Run
from anabranch.runs.states import ACTIVE, Event, State
from anabranch.validate.charges import ControlStaging
from anabranch.validate.report import Report, Verdict, require_accepted
from anabranch.wiring.approval import approved_run, require_rollback_authority
from anabranch.wiring.catching_up import missed, reached
from anabranch.wiring.certificate import certified, look_at_isolation
from anabranch.wiring.control import with_control
from anabranch.wiring.cost import cost_record, note_estimate
from anabranch.wiring.gates import Gatekeeper
from anabranch.wiring.holder import holder_name, is_gone, lease_time
from anabranch.wiring.limits import limits_of
from anabranch.wiring.planning import DriftGuard, ProjectPresent, plan_backfill
from anabranch.wiring.slice_writers import control_writer, run_folder, slice_writer, stream_folder
from anabranch.wiring.verdicts import ever_accepted
from anabranch.wiring.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIDWAY = frozenset({State.REPLAYING, State.PAUSED, State.FAILED, State.STAGED})

SLICE, CONTROL = "slice", "control"
"""What slices are called in the journal: by the corrected code, and by the one that production was made by."""

CATCH_UP_ROUNDS = 5
"""How often to catch up with live before a promotion. Each round is shorter than the one before."""
TURN_SECONDS = 60
"""How long live is asked to wait, where each of its commits has to be replayed before a promotion."""


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
    workplace: Workplace, store: SqlRunStore, file: Path, *, now: datetime, actor: str, control: bool = False
) -> Run:
    """The active run of this very contract, or a new one of a plan made now.

    So that the same command goes on with what it began, whatever has changed in the table since.
    """
    contract = load_contract(workplace.loaded, file)
    wanted = contract_hash(as_plain(with_control(contract.backfill, wanted=control)))
    for run in store.reader.runs(states=ACTIVE):
        if run.contract_hash == wanted and run.pipeline == contract.pipeline.name:
            return run
    planned = plan_backfill(workplace, file, now=now, control=control)
    note_estimate(workplace, store, planned, by=actor, now=now)
    return submit(store, planned.plan, planned.asked.contract, now=now, actor=actor)


@dataclass(frozen=True)
class BackfillRun:
    """A run in hand of one process. Spark is started only by what needs it."""

    workplace: Workplace
    store: SqlRunStore
    run_id: str

    @property
    def run(self) -> Run:
        return self.store.reader.run(self.run_id)

    @cached_property
    def plan(self) -> Plan:
        return read_plan(self.store.reader.documents(self.run_id).plan)

    @cached_property
    def contract(self) -> Contract:
        document = self.store.reader.documents(self.run_id).contract
        return Contract.model_validate(document, context=self.workplace.loaded.surroundings)

    @cached_property
    def pipeline(self) -> Pipeline:
        return load_pipelines(self.workplace.loaded)[self.plan.pipeline].pipeline

    @cached_property
    def target(self) -> IcebergTarget:
        kind = WholeTarget if self.plan.strategy.whole_table else IcebergTarget
        return kind(self.workplace.catalog.open(), self.plan.target.table)

    @property
    def gates(self) -> Gatekeeper:
        person = operator()[1]
        return Gatekeeper(self.workplace, self.store, self.plan, self.contract, self.pipeline, person, self.run_id)

    @property
    def folder(self) -> Path:
        """Where people find what the run has left: the validation's page, the closure record."""
        return run_folder(self.workplace, self.run_id)

    @contextmanager
    def hold(self) -> Iterator[Hold]:
        """The run's lease. One whose process has ended is not waited for: its epoch is refused from then on."""
        holder, actor = operator()
        former = self.store.reader.lease(self.run_id).holder
        gone = former is not None and is_gone(former)
        with (
            holding(self.store, self.run_id, holder=holder, actor=actor, ttl=lease_time(), take_over=gone) as hold,
            self._superseded_leaves_nothing(hold),
        ):
            yield hold

    @contextmanager
    def _superseded_leaves_nothing(self, hold: Hold) -> Iterator[None]:
        """Whatever a superseded process fails with, that it was superseded is the reason; and it tidies up."""
        try:
            yield
        except Exception as error:
            try:
                hold.require()
            except SupersededError as superseded:
                unused = self.run.state in (State.CLOSING, State.CLOSED)
                self.target.remove_stray(self.run_id, hold.epoch, unused=unused)
                raise superseded from (None if isinstance(error, SupersededError) else error)
            except AnabranchError:
                pass  # that the database does not answer comes second to what failed
            raise

    def staging(self, hold: Hold, *, control: bool = False) -> Staging:
        return take_staging(hold, self.plan, self.target, control=control)

    def staged(self, staging: Staging) -> list[StagedSlice]:
        return self.target.staged(staging.branch, self.plan.root)

    def replay(self, hold: Hold, watch: Watch, slices: tuple[Slice, ...] | None = None) -> End:
        """Replay what is not in staging yet: the plan's slices, or those given to catch up.

        Drift, limits and gates come first. Where one of them refuses, no branch was made, Spark was not started and no
        user code was loaded.
        """
        wanted = self.plan.slices if slices is None else slices
        # A control is compared over the plan's own offsets: what is caught up with later is none of it.
        controlled = self.plan.control is not None and slices is None
        guard = DriftGuard(
            self.plan,
            ProjectPresent(self.workplace, self.pipeline, self.plan),
            wanted=ranges_of(wanted),
            needed=lambda: self._needed(wanted, controlled=controlled),
            flag=lambda drift: self._flag(hold, drift),
        )
        limits = limits_of(self.workplace, hold, self.plan, self.contract)
        guard.check()
        if slices is None:
            limits.require_open()
            self.gates.require_for_replay()
        self._note_isolation(hold)
        writers = self._writers(control=controlled)
        with self._preparing(writers.values(), wanted):
            lanes = tuple(
                Lane(step, self.staging(hold, control=step == CONTROL), writer) for step, writer in writers.items()
            )
        return Replayer(
            hold,
            self.plan,
            self.target,
            lanes,
            guard,
            watch,
            Clock(time.monotonic, time.sleep),
            limits.bytes_per_second,
            # Catching up is part of a promotion, which looks at the window itself.
            limits if slices is None else lambda: None,
        )(wanted)

    def validate(self, hold: Hold, now: datetime) -> Report:
        """Judge staging as it is now, put the verdict on record, and leave the page where people find it."""
        from anabranch.adapters.spark.measures import measure
        from anabranch.validate.judge import judge
        from anabranch.validate.record import keep

        staging = self.staging(hold)
        hold.give_up("validate", "its process ended")
        number = hold.number("validate")
        entry = hold.intend("validate", {"staging": staging.snapshot}, intent=f"{self.run_id}-validate-{number}")
        reach("validate.before")
        measures = measure(
            self._spark,
            self.workplace.catalog.name,
            self.plan.target.table,
            self.plan,
            staging.snapshot,
            self.contract,
            self.pipeline,
            self.workplace.folder,
            schema=schema_digest(self.target.load()),
            control=self._control(hold, staging),
        )
        accounts = self._accounts(staging)
        report = judge(measures, self.plan, self.contract, self.pipeline, accounts, run=self.run_id, at=now)
        hold.require()
        keep(report, self.workplace.state)
        reach("validate.after")
        accepted = report.verdict is Verdict.ACCEPTED
        said = {"staging": staging.snapshot, "verdict": report.verdict.value, "digest": report.digest.text}
        hold.settle(entry, Outcome.SUCCEEDED, said)
        hold.move(Event.ACCEPT if accepted else Event.REJECT, said)
        return report

    def promote(self, hold: Hold, watch: Watch, now: datetime) -> int:
        """Join the run in, catching up with live first where it wrote into the range by other code."""
        self._require_no_drift()
        if self.run.state not in (State.PROMOTING, State.PROMOTED):
            limits_of(self.workplace, hold, self.plan, self.contract).require_for_promotion()
            self.gates.require_for_promotion()
        try:
            snapshot = self._catch_up_and_join(hold, watch, now)
        except BaseException:
            with suppress(Exception):  # what failed is the error to report; the turn ends by itself
                self._give_turn_back()
            raise
        self._give_turn_back()
        return snapshot

    def _give_turn_back(self) -> None:
        if isinstance(self.target, WholeTarget):
            self.target.give_turn_back(self.run_id)

    def _catch_up_and_join(self, hold: Hold, watch: Watch, now: datetime) -> int:
        for number in range(CATCH_UP_ROUNDS):
            self._finish_catching_up(hold, watch, now)
            staging = self.staging(hold)
            done = already_done(hold, self.target, Act.PROMOTE)
            if done is not None:
                return done  # to find out what has happened needs nobody's approval
            approved = approved_run(self, hold, staging, now)
            caught, so_far = frozenset[int](), reached(self.plan, self.staged(staging))
            if not self.plan.strategy.whole_table:
                caught = frozenset(int(each.slice_id[len(CATCH_UP) :]) for each in self._catch_ups(staging))
            try:
                return Promotion(hold, self.target, approved, staging, caught, so_far)()
            except BehindError as error:
                behind = error
                if number and isinstance(self.target, WholeTarget):
                    # The first round may take long. After it there is little left, and live can wait for that.
                    self.target.ask_for_turn(self.run_id, round(time.time()) + TURN_SECONDS)
                self.replay(hold, watch, missed(self.plan, error.behind.commits, so_far))
                require_accepted(self.validate(hold, now))
        raise behind

    def _finish_catching_up(self, hold: Hold, watch: Watch, now: datetime) -> None:
        """Go on where a promotion ended in the middle of catching up: staging is longer than what was judged."""
        if self.run.state in MIDWAY and ever_accepted(hold.reader, self.run_id):
            self.replay(hold, watch, ())
            require_accepted(self.validate(hold, now))

    def roll_back(self, hold: Hold, override: str | None = None) -> int:
        """Take the run out again; by rows, on Spark, only where its files were rewritten since.

        `override` is the reason of somebody whom the roles don't name, and goes on record.
        """
        require_rollback_authority(self, hold, override)

        def by_rows(staging: Staging, note: CommitNote) -> int:
            if isinstance(self.target, WholeTarget):
                from anabranch.adapters.spark.merge_rollback import MergeRollback

                code = code_digest(self.workplace.folder, self.pipeline)
                return MergeRollback(self.target, self._writer(), code)(staging, note)
            from anabranch.adapters.spark.row_rollback import RowRollback

            return RowRollback(self._spark, self.workplace.catalog, self.target)(staging, note)

        return Rollback(hold, self.target, self.staging(hold), by_rows)()

    @property
    def rollback_horizon(self) -> RollbackHorizon | None:
        """The horizon of the promotion that production has. None: closing the run gives up no rollback."""
        length = horizon_length(self.store.reader.documents(self.run_id).contract)
        return rollback_horizon(self.run.state, self.store.reader.journal(self.run_id), length)

    def close(self, hold: Hold, now: datetime, *, forfeit: str | None = None) -> Mapping[str, object]:
        """Write the closure record and remove staging. `forfeit`: why a promotion is closed within its horizon."""
        from anabranch.close.record import read_record, write_record

        def keep(record: Mapping[str, object]) -> None:
            write_record(self.folder / "closure.json", record)
            stream = stream_folder(self.workplace, self.plan, self.run_id)
            if stream is not None:
                stream.remove()

        if self.run.state is State.CLOSED:
            return read_record(self.folder / "closure.json")
        return Closure(
            hold,
            self.plan,
            self.target,
            certify=lambda: self._certificate(hold),
            cost=lambda: cost_record(self.workplace, hold.reader, self.plan, self.run_id, self.contract),
            keep=keep,
            horizon=horizon_length(hold.reader.documents(self.run_id).contract),
            now=now,
            forfeit=forfeit,
        )()

    @cached_property
    def _spark(self) -> SparkSession:
        return self.workplace.spark(f"anabranch {self.run_id}")

    def _writer(self) -> SliceWriter:
        return slice_writer(self._spark, self.workplace, self.plan, self.pipeline, self.run_id)

    def _writers(self, *, control: bool) -> dict[str, SliceWriter]:
        """By what their slices are called in the journal."""
        own = {SLICE: self._writer()}
        if not control:
            return own
        return {**own, CONTROL: control_writer(self._spark, self.workplace, self.plan, self.run_id)}

    @contextmanager
    def _preparing(self, writers: Iterable[SliceWriter], wanted: Sequence[Slice]) -> Iterator[None]:
        """Compile the first slice's query while staging is made: both take about as long.

        An error in it surfaces when the first slice is written, which compiles the query again.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="prepare") as meanwhile:
            for writer in writers if wanted else ():
                meanwhile.submit(writer.prepare, wanted[0])
            yield

    def _control(self, hold: Hold, staging: Staging) -> ControlStaging | None:
        """The control's rows, and staging as it was before it caught up with live: both of the plan's own offsets."""
        if self.plan.control is None:
            return None
        control = self.staging(hold, control=True)
        own = [each.snapshot for each in self.staged(staging) if not each.slice_id.startswith(CATCH_UP)]
        return ControlStaging(control.snapshot, own[-1] if own else staging.snapshot, tuple(self._accounts(control)))

    def _accounts(self, staging: Staging) -> list[SliceAccount]:
        return [
            SliceAccount(Slice(each.slice_id, each.offsets), each.ledger.accounts, each.ledger.late)
            for each in self.staged(staging)
        ]

    def _catch_ups(self, staging: Staging) -> list[StagedSlice]:
        return [each for each in self.staged(staging) if each.slice_id.startswith(CATCH_UP)]

    def _require_no_drift(self) -> None:
        """Before promotion: the topic and the table are those of the plan. Code and lookups have done their work."""
        present = ProjectPresent(self.workplace, self.pipeline, self.plan).now()
        drifts = check_drift(self.plan, present, needed={})
        done = (CodeChanged, LookupGone)
        require_no_drift(self.plan, [drift for drift in drifts if not isinstance(drift, done)])

    def lag(self) -> int | None:
        """How far live is behind, in offsets."""
        client = self.workplace.kafka.client(REPLAY_PREFIX)
        return lag(client, self.pipeline.spec.consumer_group, describe_topic(client, self.plan.source.topic))

    def _needed(self, wanted: tuple[Slice, ...], *, controlled: bool) -> Ranges:
        """The offsets still to be read, by whichever code."""
        there = [self._staged_ids(control=control) for control in ((False, True) if controlled else (False,))]
        return ranges_of(slice_ for slice_ in wanted if not all(slice_.id in ids for ids in there))

    def _staged_ids(self, *, control: bool) -> set[str]:
        """The slices in the newest staging branch of the run, or of its control. Makes no branch."""
        branches = self.target.branches(self.run_id, control=control)
        if not branches:
            return set()
        newest = max(branches, key=epoch_of)
        return {staged.slice_id for staged in self.target.staged(newest, self.plan.root)}

    def _flag(self, hold: Hold, drift: Drift) -> None:
        if not forbids(drift):
            self._once(hold, "drift.noticed", describe(drift))

    def _once(self, hold: Hold, action: str, words: str) -> None:
        said = [record for record in hold.reader.audit(run_id=self.run_id) if record.action == action]
        if not any(words in record.details for record in said):
            hold.writer.record_act(action, actor=hold.actor, run_id=self.run_id, details={"what": words})

    def _note_isolation(self, hold: Hold) -> None:
        """Once, before the user's code is loaded and the first record is read: the certificate is compared with it."""
        if not any(entry.step == "isolation" for entry in hold.reader.journal(self.run_id)):
            seen = look_at_isolation(self.workplace, self.pipeline)
            hold.intend("isolation", seen, intent=f"{self.run_id}-isolation")

    def _certificate(self, hold: Hold) -> Certificate:
        entry = next((e for e in hold.reader.journal(self.run_id) if e.step == "isolation"), None)
        before = {} if entry is None else entry.details
        return certified(self.workplace, self.pipeline, before, main_untouched=self._main_untouched())

    def _main_untouched(self) -> bool:
        """Whether every commit of this run on main is a promotion or a rollback."""
        return self.target.authors(self.run_id) <= {Author.PROMOTION, Author.ROLLBACK}
