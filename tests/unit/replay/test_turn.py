"""The wait before a replay: shown and on record, ended by its turn, a cancellation, a pause or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased, walked_to
from tests.unit.replay.test_replayer import Watching

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.replay.allowance import UNLIMITED, Allowance
from anabranch.replay.controls import ControlRequest
from anabranch.replay.replayer import ReplayEnd
from anabranch.replay.turn import Turn
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

RUN = "r1"
QUEUED = Allowance("budget", "1st of 1, waits for run a; 1 of 1 slots in use", 1, paused=True)


class SilentError(AnabranchError):
    code = "test.silent"


@dataclass
class Scene:
    store: SqlRunStore
    lease: RunLease
    watching: Watching
    upon: dict[int, Callable[[], None]] = field(default_factory=dict)
    """What happens during each rest, by number."""
    held: Allowance = QUEUED
    rests: int = 0

    def allowance(self) -> Allowance:
        return self.held

    def rest(self, _seconds: float) -> None:
        self.rests += 1
        assert self.rests < 10, "it waits for ever"
        self.upon.get(self.rests, lambda: None)()

    def admit(self) -> None:
        self.held = UNLIMITED

    def ask(self, request: ControlRequest) -> None:
        self.store.writer.record_act(request.value, actor="bob", run_id=RUN)

    def __call__(self) -> ReplayEnd | None:
        stopped = Turn(self.lease, [self], self.watching, self.rest)()
        assert stopped is None or stopped.run == RUN
        return None if stopped is None else stopped.end


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        epoch = walked_to(store, State.PLANNED).epoch
        yield Scene(store, RunLease(store.reader, store.writer, RUN, epoch, "ada"), Watching())


def test_what_nothing_holds_begins_at_once_and_leaves_no_note(scene: Scene) -> None:
    scene.admit()
    assert scene() is None
    assert (scene.rests, scene.store.reader.pace(RUN)) == (0, None)


def test_a_held_run_waits_shows_why_and_begins_in_its_turn(scene: Scene) -> None:
    scene.upon[3] = scene.admit
    assert scene() is None
    assert scene.watching.rested == [f"start held by the replay budget: {QUEUED.reason}"] * 3
    pace = scene.store.reader.pace(RUN)
    assert pace is not None
    assert (pace.details["source"], pace.details["reason"]) == ("budget", QUEUED.reason)
    assert scene.lease.run.state is State.PLANNED


def test_a_cancellation_ends_the_wait(scene: Scene) -> None:
    scene.upon[2] = lambda: scene.ask(ControlRequest.CANCEL)
    assert scene() is ReplayEnd.CANCELLED
    assert scene.lease.run.state is State.CANCELLED


def test_a_pause_while_it_waits_leaves_the_queue_and_one_from_before_does_not(scene: Scene) -> None:
    scene.ask(ControlRequest.PAUSE)
    scene.upon[2] = lambda: scene.ask(ControlRequest.PAUSE)
    assert scene() is ReplayEnd.PAUSED
    assert (scene.rests, scene.lease.run.state) == (2, State.PLANNED)


def test_an_interrupt_ends_the_wait(scene: Scene) -> None:
    scene.upon[1] = lambda: setattr(scene.watching, "stop", True)
    assert scene() is ReplayEnd.PAUSED
    assert scene.rests == 1


def test_a_database_that_is_silent_is_waited_for(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object, **__: object) -> None:
        raise SilentError("The control database cannot be reached.", state="as before", hint="wait")

    def answers_again() -> None:
        monkeypatch.undo()
        scene.admit()

    monkeypatch.setattr(RunLease, "check_epoch", silent)
    scene.upon[2] = answers_again
    assert scene() is None
    assert scene.watching.rested == ["waits: The control database cannot be reached."] * 2


def test_a_superseded_process_stops_waiting(scene: Scene) -> None:
    scene.upon[1] = lambda: setattr(scene, "lease_taken", leased(scene.store, RUN))
    with pytest.raises(SupersededError):
        scene()
