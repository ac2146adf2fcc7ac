"""A replay from the gates to the last slice: what has happened when something refuses, and what it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import walked_to
from tests.unit.replay.test_replayer import (
    IDS,
    PLAN,
    RUN,
    SLICES,
    BrokenError,
    MemoryTable,
    MemoryWriter,
    Watching,
    broken,
)

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.gates.cleared import ClearedPlan
from anabranch.gates.scorecard import Scorecard
from anabranch.gates.stakes import Stakes
from anabranch.plan.drift import ObservedInputs
from anabranch.plan.drift_errors import DriftError
from anabranch.plan.forecast.cost import Bill
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.plan.steps import RecordIsolation
from anabranch.plan.target_range import TargetPart
from anabranch.replay.controls import ControlRequest
from anabranch.replay.limits import Limits
from anabranch.replay.pacing import Pacing
from anabranch.replay.replayer import Clock, ReplayEnd, SliceWriter
from anabranch.replay.run import CatchUpStoppedError, ReplayRun
from anabranch.replay.service_watch import no_services
from anabranch.replay.staged import StagedRun, StoppedReplay
from anabranch.replay.staging import StagingPlace
from anabranch.runs.heads import Head
from anabranch.runs.hooks import HookedStep
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

NOW = datetime(2025, 6, 1, tzinfo=timezone.utc)
AXIS = PLAN.target.partitions.axis
INPUTS = ObservedInputs("u1", 1, {0: 0}, "fixed", "schema", AXIS, base_kept=True)
OPEN = Stakes(True, "", (), "little")


@dataclass
class Table(MemoryTable):
    """A target that stagings can be made in."""

    places: list[StagingPlace] = field(default_factory=list)

    def stagings(self, run: str, *, control: bool = False) -> Sequence[StagingPlace]:
        return [each for each in self.places if each.name.endswith("control") is control]

    def make_staging(
        self, run: str, epoch: int, root: Head, replaced: TargetPart | None, *, control: bool = False
    ) -> None:
        self.places.append(StagingPlace(f"{run}-{epoch}{'-control' if control else ''}", epoch, root))


@dataclass
class World:
    """All that a replay touches outside. `did` is what it did there, in order."""

    lease: RunLease
    plan: Plan = PLAN
    table: Table = field(default_factory=Table)
    did: list[str] = field(default_factory=list)
    inputs: ObservedInputs = INPUTS
    gates_say: Callable[[], None] = lambda: None
    watching: Watching = field(default_factory=Watching)
    paced: list[str] = field(default_factory=list)
    hooked: list[str] = field(default_factory=list)
    stopped: StoppedReplay | None = None
    """How the replay was stopped while it waited for its turn."""

    def now(self) -> ObservedInputs:
        return self.inputs

    def clear_for_replay(self) -> ClearedPlan:
        self.did.append("gates")
        self.gates_say()
        return ClearedPlan(self.plan, Scorecard((), {}, self.plan.hash, RUN, NOW, OPEN))

    def start(self, phase: Callable[[str], None]) -> None:
        self.did.append("engine")

    def writer(self, notice: Callable[[str], object]) -> SliceWriter:
        self.did.append("code")
        return MemoryWriter(self.table)

    def control_writer(self) -> SliceWriter:
        self.did.append("control code")
        return MemoryWriter(self.table)

    def cancel_jobs(self) -> None: ...

    def look(self) -> Mapping[str, object]:
        self.did.append("isolation")
        return {"groups": {}}

    @contextmanager
    def hooks(self) -> Iterator[HookedStep]:
        self.hooked.append("entered")
        step = HookedStep()
        yield step
        self.hooked.append(step.outcome)

    @contextmanager
    def pacing(self) -> Iterator[Pacing]:
        self.paced.append("entered")
        yield Pacing()
        self.paced.append("left")

    @property
    def run(self) -> ReplayRun:
        return ReplayRun(
            self.lease,
            self.plan,
            self.table,
            self.watching,
            lambda: self,
            self,
            self,
            limits=lambda: Limits(self.lease, None, None, None, lambda: Bill((), "", ""), lambda: NOW),
            observe_isolation=self.look,
            copy_checkpoint=lambda _epoch, _staged: self.did.append("checkpoint"),
            watch_services=no_services,
            clock=Clock(time.monotonic, lambda _: None),
            pacing=self.pacing,
            turn=lambda: self.stopped,
            hooks=self.hooks,
        )

    def cancel(self) -> None:
        self.lease.writer.record_act(ControlRequest.CANCEL.value, actor="bob", run_id=RUN)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def world_in(store: SqlRunStore, state: State) -> World:
    return World(RunLease(store.reader, store.writer, RUN, walked_to(store, state).epoch, "ada"))


@pytest.fixture
def world(store: SqlRunStore) -> World:
    return world_in(store, State.PLANNED)


def test_the_plans_list_is_executed_in_its_order_and_returns_a_staged_run(world: World) -> None:
    found = world.run()
    assert isinstance(found, StagedRun)
    assert (found.plan, found.staging.name) == (PLAN, f"{RUN}-{world.lease.epoch}")
    assert world.did == ["gates", "isolation", "engine", "code"]
    assert (world.table.ids(found.staging.name), world.lease.run.state) == (IDS, State.STAGED)
    assert world.paced == ["entered", "left"]
    assert world.hooked == ["entered", "staged"]


@pytest.mark.parametrize("end", [ReplayEnd.PAUSED, ReplayEnd.CANCELLED])
def test_a_replay_that_is_stopped_before_its_turn_does_nothing(world: World, end: ReplayEnd) -> None:
    world.stopped = StoppedReplay(RUN, end)
    assert world.run() == world.stopped
    assert (world.did, world.hooked, world.paced, world.table.places) == ([], [], [], [])
    assert list(world.lease.reader.journal(RUN)) == []


@pytest.mark.parametrize("refuses", ["drift", "gates"])
def test_what_refuses_leaves_no_staging_no_engine_and_no_code_loaded(world: World, refuses: str) -> None:
    if refuses == "drift":
        world.inputs = replace(INPUTS, uuid="another topic of that name")
    else:
        world.gates_say = broken
    with pytest.raises(DriftError if refuses == "drift" else BrokenError):
        world.run()
    assert (world.table.places, world.lease.run.state) == ([], State.PLANNED)
    assert world.did == ([] if refuses == "drift" else ["gates"])
    assert world.paced == [], "and nothing was set up at the brokers"


def test_isolation_is_observed_once_however_often_the_run_goes_on(world: World) -> None:
    world.watching.stop = True
    first = world.run()
    assert first == StoppedReplay(RUN, ReplayEnd.PAUSED)
    world.watching.stop = False
    assert isinstance(world.run(), StagedRun)
    assert world.did.count("isolation") == 1
    assert world.did.count("gates") == 2, "gates are passed at every start"
    recorded = [each for each in world.lease.reader.journal(RUN) if each.step == RecordIsolation.name]
    assert [each.details for each in recorded] == [{"groups": {}}]


def test_a_cancelled_replay_returns_no_staged_run(world: World) -> None:
    world.cancel()
    assert world.run() == StoppedReplay(RUN, ReplayEnd.CANCELLED)
    assert world.lease.run.state is State.CANCELLED


def test_a_control_is_staged_by_its_own_code_in_a_staging_of_its_own(world: World) -> None:
    world.plan = replace(PLAN, control="c" * 64)
    found = world.run()
    assert isinstance(found, StagedRun)
    assert world.did == ["gates", "isolation", "engine", "code", "control code"]
    control = f"{RUN}-{world.lease.epoch}-control"
    assert found.staging.name != control
    assert world.table.ids(found.staging.name) == world.table.ids(control) == IDS


def test_catching_up_stages_what_live_added_without_gates_or_isolation(store: SqlRunStore) -> None:
    world = world_in(store, State.VALIDATED)
    missed = Slice("live-9", {0: (50, 60)})
    found = world.run.catch_up([missed])
    assert isinstance(found, StagedRun)
    assert (world.did, world.table.ids(found.staging.name)) == (["engine", "code"], ["live-9"])
    assert world.lease.run.state is State.STAGED


def test_a_catch_up_that_was_stopped_is_no_staged_run(store: SqlRunStore) -> None:
    world = world_in(store, State.VALIDATED)
    world.watching.stop = True
    with pytest.raises(CatchUpStoppedError) as stopped:
        world.run.catch_up(SLICES[:1])
    assert stopped.value.command == f"anabranch promote {RUN}"
