"""A promotion in rounds: catching up with live, when live is asked to wait, and what a crash or a refusal leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import walked_to
from tests.unit.promote.test_promotion_rules import BASE, PLAN, RUN, MemoryTable, live
from tests.unit.validate.evidence import report

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import TargetPart
from anabranch.promote.promotion import ApprovalNotRequired, ApprovedRun, StagingBehindLiveError
from anabranch.promote.run import CATCH_UP_ROUNDS, LIVE_PAUSE_SECONDS, PromotionRun
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staged import StagedRun, staged_run
from anabranch.replay.staging import StagedSlice, Staging, StagingPlace
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State
from anabranch.validate.accepted import AcceptedRun, RejectedRun, ValidationRejectedError, ValidationResult

NOW = 1_750_000_000


class RefusedError(AnabranchError):
    code = "test.refused"


@dataclass
class Table(MemoryTable):
    """A main line and one staging, whose slices a catch-up adds."""

    staged: list[StagedSlice] = field(default_factory=list)
    pauses: list[int | None] = field(default_factory=list)
    """Until when live was asked to wait; None: it was released."""

    def stagings(self, run: str, *, control: bool = False) -> Sequence[StagingPlace]:
        return [StagingPlace("staging", self.epoch, self.staging_head)]

    epoch: int = 1

    @property
    def staging_head(self) -> Head:
        return self.staged[-1].head if self.staged else Head("staged")

    def make_staging(
        self, run: str, epoch: int, root: Head, replaced: TargetPart | None, *, control: bool = False
    ) -> None:
        raise AssertionError("it exists")

    def hand_over(self, former: StagingPlace, run: str, epoch: int, *, control: bool = False) -> None:
        raise AssertionError("it is this epoch's")

    def staged_slices(self, name: str, root: Head) -> Sequence[StagedSlice]:
        return tuple(self.staged)

    def request_live_pause(self, run: str, until: int) -> None:
        self.pauses.append(until)

    def release_live_pause(self, run: str) -> None:
        self.pauses.append(None)


@dataclass
class World:
    """What a promotion asks for; `did` is the order in which it did."""

    lease: RunLease
    table: Table
    did: list[str] = field(default_factory=list)
    rehearsal_due: bool = True
    refuses: str = ""
    rejects: bool = False
    upon_catch_up: Callable[[], None] = lambda: None

    def note(self, what: str) -> None:
        self.did.append(what)
        if what == self.refuses:
            raise RefusedError(f"{what} refused", state="as before", hint="none")

    def require_for_promotion(self) -> None:
        self.note("gates")

    def rollback_rehearsal_due(self) -> bool:
        return self.rehearsal_due

    def rehearse_rollback(self, say: Callable[[str], object]) -> bool:
        self.note("rehearsal")
        return True

    def approve(self, staging: Staging) -> ApprovedRun:
        self.note("approval")
        return ApprovedRun(AcceptedRun(PLAN, staging.head), ApprovalNotRequired("dev"))

    def catch_up(self, slices: Sequence[Slice]) -> StagedRun:
        self.note(f"catch up {' '.join(each.id for each in slices)}".strip())
        if self.lease.run.state is not State.STAGED:
            self.lease.transition(Event.CATCH_UP)
            self.lease.transition(Event.STAGE)
        for each in slices:
            head = Head(f"caught-up-{len(self.table.staged)}")
            self.table.staged.append(StagedSlice(each.id, self.lease.epoch, head, each.offsets, SliceLedger(0, {})))
        self.upon_catch_up()
        return staged_run(self.lease, PLAN, self.table)

    def validate(self, staged: StagedRun) -> ValidationResult:
        self.note("validation")
        self.lease.transition(Event.REJECT if self.rejects else Event.ACCEPT)
        head = staged.staging.head
        return ValidationResult(RejectedRun(PLAN, head, ()) if self.rejects else AcceptedRun(PLAN, head), report())

    def __call__(self) -> Head:
        return PromotionRun(
            self.lease,
            PLAN,
            self.table,
            lambda: self,
            require_no_drift=lambda: self.note("drift"),
            require_within_limits=lambda: self.note("limits"),
            approve=self.approve,
            catch_up=self.catch_up,
            validate=self.validate,
            clock=lambda: NOW,
        )()

    @property
    def promoted(self) -> bool:
        return any(commit.run == RUN for commit in self.table.commits)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def world_in(store: SqlRunStore, state: State) -> World:
    lease = RunLease(store.reader, store.writer, RUN, walked_to(store, state).epoch, "ada")
    return World(lease, Table(epoch=lease.epoch))


@pytest.fixture
def world(store: SqlRunStore) -> World:
    return world_in(store, State.VALIDATED)


def test_everything_is_asked_before_the_commit_in_this_order(world: World) -> None:
    assert world() == world.table.head != BASE
    assert list(dict.fromkeys(world.did)) == ["drift", "limits", "rehearsal", "gates", "approval"]
    assert (world.lease.run.state, world.table.pauses) == (State.PROMOTED, [None])


@pytest.mark.parametrize("refuses", ["drift", "limits", "rehearsal", "gates", "approval"])
def test_each_of_them_can_refuse_and_production_is_unchanged(world: World, refuses: str) -> None:
    world.refuses = refuses
    with pytest.raises(RefusedError):
        world()
    assert world.did[-1] == refuses
    assert (world.promoted, world.lease.run.state) == (False, State.VALIDATED)


def test_a_rehearsal_is_repeated_only_when_it_is_due(world: World) -> None:
    world.refuses = "gates"
    with pytest.raises(RefusedError):
        world()
    world.rehearsal_due, world.refuses = False, ""
    world()
    assert world.did.count("rehearsal") == 1


def test_what_live_committed_is_staged_and_validated_before_the_commit(world: World) -> None:
    world.table.commits.append(live(8))
    world()
    assert [each for each in world.did if each.startswith(("catch", "valid"))] == ["catch up live-h8", "validation"]
    assert world.promoted
    assert world.table.pauses == [None], "the first round asks live for nothing"


def test_live_is_asked_to_wait_from_the_second_round_on(world: World) -> None:
    world.table.commits.append(live(8))

    def commit_once_more() -> None:
        if len(world.table.commits) == 1:
            world.table.commits.append(live(9))

    world.upon_catch_up = commit_once_more
    world()
    assert [each for each in world.did if each.startswith("catch")] == ["catch up live-h8", "catch up live-h9"]
    assert world.table.pauses == [NOW + LIVE_PAUSE_SECONDS, None]


def test_a_live_that_is_never_reached_ends_the_promotion_and_is_released(world: World) -> None:
    world.table.commits.append(live(8))
    world.upon_catch_up = lambda: world.table.commits.append(live(100 + len(world.table.commits)))
    with pytest.raises(StagingBehindLiveError):
        world()
    assert world.did.count("validation") == CATCH_UP_ROUNDS
    assert (world.promoted, world.lease.run.state) == (False, State.VALIDATED)
    assert world.table.pauses == [NOW + LIVE_PAUSE_SECONDS] * (CATCH_UP_ROUNDS - 1) + [None]


def test_rejected_rows_of_live_are_not_promoted(world: World) -> None:
    world.table.commits.append(live(8))
    world.rejects = True
    with pytest.raises(ValidationRejectedError):
        world()
    assert (world.promoted, world.lease.run.state) == (False, State.REJECTED)


def test_a_catch_up_that_was_cut_short_is_finished_and_validated_first(store: SqlRunStore) -> None:
    world = world_in(store, State.STAGED)
    entry = world.lease.record_intent("validate", {}, intent="v1")
    world.lease.record_outcome(entry, Outcome.SUCCEEDED, {"verdict": "accepted", "staging": "staged", "digest": "d"})
    world()
    assert [each for each in world.did if each.startswith(("catch", "valid"))] == ["catch up", "validation"]
    assert world.promoted


def test_a_promotion_that_was_made_needs_nothing_but_the_drift_check(world: World) -> None:
    head = world()
    world.did.clear()
    world.refuses = "approval"
    assert world() == head
    assert world.did == ["drift"]
