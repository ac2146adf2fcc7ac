"""A run on a target of some kind, taken to where it may be promoted; the rooms are the real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.conformance.target.kinds import Target, TargetKind

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.promote.history import Commit
from anabranch.promote.promotion import (
    ApprovalNotRequired,
    ApprovedRun,
    Promotion,
    StagingBehindLiveError,
)
from anabranch.promote.rollback import Rollback
from anabranch.replay.staging import take_staging
from anabranch.runs.heads import Head
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun
from anabranch.runs.run_lease import LEASE_DURATION, RunLease, acquire_run_lease
from anabranch.runs.states import Event, State
from anabranch.validate.accepted import AcceptedRun

RUN = "run1"


@dataclass
class Scene:
    kind: TargetKind
    store: SqlRunStore
    caught_up: list[Commit] = field(default_factory=list)

    def submit_validated(self) -> None:
        plan = self.kind.plan
        claim = TargetRange(plan.target.table, plan.target.partitions.start, plan.target.partitions.end)
        new = NewRun(RUN, plan.pipeline, claim, plan.contract, plan.hash, "ann", {}, plan.document())
        self.store.writer.submit(new, actor="ann")
        with self.lease() as lease:
            self.kind.stage(take_staging(lease, plan, self.kind.target()))
            for event in (Event.START, Event.STAGE, Event.ACCEPT):
                lease.transition(event)

    @property
    def state(self) -> State:
        return self.store.reader.run(RUN).state

    @contextmanager
    def lease(self, holder: str = "driver") -> Iterator[RunLease]:
        with acquire_run_lease(self.store, RUN, holder=holder, actor="ann") as lease:
            yield lease

    def successor(self, lease: RunLease) -> RunLease:
        """Another process takes the run over, and staging with it."""
        taken = self.store.writer.acquire(RUN, "successor", LEASE_DURATION, actor="bob", take_over=True)
        successor = RunLease(lease.reader, lease.writer, RUN, taken.epoch, "bob")
        take_staging(successor, self.kind.plan, self.kind.target())
        return successor

    def promotion(self, lease: RunLease, target: Target | None = None) -> Promotion:
        client = target or self.kind.target()
        staging = take_staging(lease, self.kind.plan, client)
        approved = ApprovedRun(AcceptedRun(self.kind.plan, staging.head), ApprovalNotRequired("tests"))
        reached = {0: max((commit.offsets[0][1] for commit in self.caught_up), default=0)}
        return Promotion(lease, client, approved, staging, {each.snapshot for each in self.caught_up}, reached)

    def rollback(self, lease: RunLease, target: Target | None = None) -> Rollback:
        client = target or self.kind.target()
        return Rollback(lease, client, take_staging(lease, self.kind.plan, client))

    def act(self, make: Callable[[RunLease], Callable[[], Head]]) -> Head:
        with self.lease() as lease:
            return make(lease)()

    def promote(self) -> Head:
        return self.act(self.promotion)

    def promote_caught_up(self) -> Head:
        """Replay into staging what live committed, as often as it is asked for."""
        for _ in range(3):
            try:
                return self.promote()
            except StagingBehindLiveError as error:
                behind = error.behind.commits
            with self.lease() as lease:
                self.kind.stage_live(take_staging(lease, self.kind.plan, self.kind.target()), behind)
            self.caught_up += behind
        raise AssertionError("catching up does not end")

    def roll_back(self) -> Head:
        return self.act(self.rollback)
