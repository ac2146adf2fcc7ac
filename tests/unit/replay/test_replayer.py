"""The replayer over a real run store, with staging and a writer in memory: order, resuming, stopping, failing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from threading import Event as Signal

import pytest
from tests.conformance.run_store.scene import leased, walked_to

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import Slice
from anabranch.plan.steps import ControlSlice, ReplaySlice
from anabranch.plan.target_range import Grain, PartitionRange, TargetPart, TimeAxis
from anabranch.replay.allowance import STANDSTILL, UNLIMITED, Allowance
from anabranch.replay.controls import ControlRequest
from anabranch.replay.ledger import Account
from anabranch.replay.pacing import Pacing, record_change
from anabranch.replay.replayer import (
    AHEAD,
    Clock,
    ReplayEnd,
    Replayer,
    ReplayVariant,
    SliceDone,
    SlicePhase,
    SliceProgress,
)
from anabranch.replay.service_watch import OutageError, ServiceWatch
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import StagedSlice, Staging, StagingPlace
from anabranch.runs.audit import AuditRecord
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State

RUN = "r1"
ROOT = Head("h7")
PART = PartitionRange(TimeAxis("at", Grain.DAY), 0, 1)
SLICES = tuple(Slice(f"s{n:05}", {0: (10 * n, 10 * n + 10)}) for n in range(5))
IDS = [each.id for each in SLICES]
PLAN = Plan(
    pipeline="orders",
    contract="c1",
    code="fixed",
    source=PlannedSource("shop.orders", "u1", 1, {0: ((0, 50),)}, {}),
    target=PlannedTarget("shop.orders", ROOT, "schema", PART, None, None),
    slices=SLICES,
)


class BrokenError(AnabranchError):
    code = "test.broken"


def broken() -> None:
    raise BrokenError("it broke", state="as before", hint="try again")


def ledger_of(slice_: Slice) -> SliceLedger:
    widths = {partition: end - start for partition, (start, end) in slice_.offsets.items()}
    return SliceLedger(100, {p: Account(width, output=width, rows=width) for p, width in widths.items()})


def name_of(epoch: int, *, control: bool = False) -> str:
    return f"{'control' if control else 'staging'}-{epoch}"


@dataclass
class MemoryTable:
    """A target with stagings by name: all that a replayer asks of one."""

    slices: dict[str, list[StagedSlice]] = field(default_factory=dict)
    commits: int = 0

    def commit(self, name: str, slice_: Slice, epoch: int) -> SliceDone:
        self.commits += 1
        head, ledger = Head(f"h{7 + self.commits}"), ledger_of(slice_)
        self.slices.setdefault(name, []).append(StagedSlice(slice_.id, epoch, head, slice_.offsets, ledger))
        return SliceDone(head, ledger)

    def ids(self, name: str) -> list[str]:
        return [each.slice_id for each in self.slices.get(name, ())]

    def staged_slices(self, name: str, root: Head) -> Sequence[StagedSlice]:
        assert root == ROOT
        return tuple(self.slices.get(name, ()))

    def stagings(self, run: str, *, control: bool = False) -> Sequence[StagingPlace]:
        raise AssertionError("staging is taken in hand before the replay")

    def make_staging(
        self, run: str, epoch: int, root: Head, replaced: TargetPart | None, *, control: bool = False
    ) -> None:
        raise AssertionError("staging is taken in hand before the replay")

    def hand_over(self, former: StagingPlace, run: str, epoch: int, *, control: bool = False) -> None:
        raise AssertionError("staging is taken in hand before the replay")


@dataclass
class MemoryWriter:
    """A writer that keeps what was begun until it is written or let go. `upon` happens within the write of a slice."""

    table: MemoryTable
    log: list[tuple[str, str | int | None]] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    upon: dict[str, Callable[[], None]] = field(default_factory=dict)
    after_commit: dict[str, Callable[[], None]] = field(default_factory=dict)
    upon_read: Callable[[], None] = lambda: None
    rates: list[int | None] = field(default_factory=list)

    def limit(self, bytes_per_second: int | None) -> None:
        self.rates.append(bytes_per_second)

    def progress(self, slice_: Slice) -> SliceProgress:
        return SliceProgress(SlicePhase.READ, 3, slice_.width, 100)

    def prepare(self, slice_: Slice) -> None: ...

    def prefetch(self, slice_: Slice) -> None:
        if slice_.id not in self.begun:
            self.begun.append(slice_.id)
            self.log.append(("begin", slice_.id))

    def await_read(self, slice_: Slice) -> None:
        self.log.append(("read", slice_.id))
        self.upon_read()

    def discard_prefetched(self) -> None:
        self.begun.clear()

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        self.log.append(("write", slice_.id))
        self.upon.get(slice_.id, lambda: None)()
        self.begun.remove(slice_.id)
        done = self.table.commit(staging.name, slice_, staging.epoch)
        self.after_commit.get(slice_.id, lambda: None)()
        return done


@dataclass
class Watching:
    """An observer that remembers, and that can ask to stop."""

    remaining_: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)
    rested: list[str] = field(default_factory=list)
    stop: bool = False

    def phase(self, words: str) -> None: ...

    def remaining(self, slices: Sequence[Slice]) -> None:
        self.remaining_ = [each.id for each in slices]

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:
        self.looked_at.append(slice_.id)

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None:
        self.done.append(slice_.id)

    def resting(self, seconds: float, reason: str) -> None:
        self.rested.append(reason)

    def notice(self, words: str) -> None: ...

    def interrupted(self) -> bool:
        return self.stop


@dataclass
class Pins:
    """A guard: `upon` happens at its checks, by number."""

    checks: int = 0
    upon: dict[int, Callable[[], None]] = field(default_factory=dict)

    def check(self) -> None:
        self.checks += 1
        self.upon.get(self.checks, lambda: None)()


@dataclass
class Scene:
    store: SqlRunStore
    lease: RunLease
    table: MemoryTable
    writer: MemoryWriter
    watching: Watching
    guard: Pins
    replayer: Replayer

    def __call__(self, *ids: str) -> ReplayEnd:
        steps = [ReplaySlice(each) for each in SLICES if not ids or each.id in ids]
        return self.replayer(steps)

    @property
    def state(self) -> State:
        return self.lease.run.state

    @property
    def staged(self) -> list[str]:
        return self.table.ids(self.replayer.variants[0].staging.name)

    def journal(self) -> list[tuple[str, Outcome | None]]:
        entries = self.store.reader.journal(RUN)
        return [(str(each.details["slice"]), each.outcome) for each in entries if each.step == "slice"]

    def ask(self, request: ControlRequest, **details: object) -> None:
        self.store.writer.record_act(request.value, actor="bob", run_id=RUN, details=details)

    def written(self) -> list[str | int | None]:
        return [what for act, what in self.writer.log if act == "write"]


def scene_of(store: SqlRunStore, table: MemoryTable | None = None, epoch: int | None = None) -> Scene:
    """A run as planned, or with an epoch a run that is there already, under that lease."""
    epoch = walked_to(store, State.PLANNED).epoch if epoch is None else epoch
    lease = RunLease(store.reader, store.writer, RUN, epoch, "ada")
    table = table or MemoryTable()
    writer, watching, guard = MemoryWriter(table), Watching(), Pins()
    staging = Staging(RUN, epoch, name_of(epoch), ROOT, PART)
    for former in [each for each in table.slices if each != staging.name]:
        table.slices[staging.name] = table.slices.pop(former)
    variants = (ReplayVariant(ReplaySlice.name, staging, writer),)
    clock = Clock(time.monotonic, lambda _seconds: None)
    replayer = Replayer(lease, PLAN, table, variants, guard, watching, clock, None)
    return Scene(store, lease, table, writer, watching, guard, replayer)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def scene(store: SqlRunStore) -> Scene:
    return scene_of(store)


def test_every_slice_is_committed_once_in_order_and_on_record(scene: Scene) -> None:
    assert scene() is ReplayEnd.STAGED
    assert scene.state is State.STAGED
    assert scene.staged == scene.watching.remaining_ == scene.watching.done == IDS
    assert scene.journal() == [(each, Outcome.SUCCEEDED) for each in IDS]
    entries = scene.store.reader.journal(RUN)
    snapshots = [each.head for each in scene.table.staged_slices(scene.replayer.variants[0].staging.name, ROOT)]
    assert [(each.outcome_details or {})["snapshot"] for each in entries] == snapshots
    assert [(each.outcome_details or {})["ledger"] for each in entries] == [ledger_of(s).document() for s in SLICES]
    assert scene.guard.checks == len(SLICES) + 1, "before each slice and after the last"


@pytest.mark.parametrize("there", [IDS[:2], IDS[4:], [IDS[1], IDS[3]], IDS], ids=len)
def test_what_is_in_staging_already_is_not_done_again(scene: Scene, there: list[str]) -> None:
    for slice_ in SLICES:
        if slice_.id in there:
            scene.table.commit(scene.replayer.variants[0].staging.name, slice_, 1)
    assert scene() is ReplayEnd.STAGED
    left = [each for each in IDS if each not in there]
    assert scene.written() == scene.watching.remaining_ == left
    assert sorted(scene.staged) == IDS


def test_the_slices_after_the_one_at_hand_are_begun_ahead_of_their_turn(scene: Scene) -> None:
    scene()
    log = scene.writer.log
    for number, slice_id in enumerate(IDS):
        begun = [what for act, what in log[: log.index(("write", slice_id))] if act == "begin"]
        assert begun == IDS[: number + 1 + AHEAD]


def test_a_failure_leaves_the_run_failed_and_what_was_committed_staged(scene: Scene) -> None:
    scene.writer.upon[IDS[2]] = broken
    with pytest.raises(BrokenError):
        scene()
    assert scene.state is State.FAILED
    fault = scene.lease.run.fault
    assert fault is not None
    assert fault.code == "test.broken"
    assert scene.staged == IDS[:2]
    assert scene.journal() == [
        (IDS[0], Outcome.SUCCEEDED),
        (IDS[1], Outcome.SUCCEEDED),
        (IDS[2], Outcome.FAILED),
    ]
    assert scene.writer.begun == [], "nothing goes on being read for a run that failed"


def test_a_failed_run_goes_on_under_the_next_epoch_where_it_stopped(scene: Scene) -> None:
    scene.writer.upon[IDS[2]] = broken
    with pytest.raises(BrokenError):
        scene()
    again = scene_of(scene.store, scene.table, leased(scene.store).epoch)
    assert again() is ReplayEnd.STAGED
    assert again.written() == IDS[2:]
    assert again.staged == IDS
    assert again.state is State.STAGED
    assert again.journal()[-3:] == [(each, Outcome.SUCCEEDED) for each in IDS[2:]]


def test_a_pin_that_moved_stops_before_the_slice_and_after_the_last(scene: Scene) -> None:
    scene.guard.upon = {2: broken}
    with pytest.raises(BrokenError):
        scene()
    assert (scene.staged, scene.state) == (IDS[:1], State.FAILED)
    assert [slice_id for slice_id, _ in scene.journal()] == IDS[:1], "nothing is intended where nothing may be done"

    again = scene_of(scene.store, scene.table, leased(scene.store).epoch)
    again.guard.upon = {len(IDS) - 1 + 1: broken}
    with pytest.raises(BrokenError):
        again()
    assert (again.staged, again.state) == (IDS, State.FAILED), "all is staged, and the run is not"


def test_the_pin_that_moved_is_reported_rather_than_the_read_that_failed_by_it(scene: Scene) -> None:
    class PinnedError(AnabranchError):
        code = "test.pinned"

    def moved() -> None:
        raise PinnedError("the topic is gone", state="as before", hint="plan again")

    scene.writer.upon[IDS[0]] = broken
    scene.guard.upon = {2: moved}
    with pytest.raises(PinnedError):
        scene()
    assert scene.lease.run.fault is not None
    assert scene.lease.run.fault.code == "test.pinned"


@pytest.mark.parametrize("committed", [True, False])
def test_an_intent_left_open_is_settled_by_what_the_table_shows(scene: Scene, committed: bool) -> None:
    """The process ended between the commit and its record, or before the commit."""
    scene.lease.transition(Event.START)
    entry = scene.lease.record_intent("slice", {"slice": IDS[0]}, intent=f"{RUN}/{IDS[0]}/e{scene.lease.epoch}")
    snapshot = Head("none")
    if committed:
        snapshot = scene.table.commit(scene.replayer.variants[0].staging.name, SLICES[0], 1).head
    again = scene_of(scene.store, scene.table, leased(scene.store).epoch)
    assert again() is ReplayEnd.STAGED
    [first, *others] = [each for each in scene.store.reader.journal(RUN) if each.details["slice"] == IDS[0]]
    assert first.id == entry.id
    if committed:
        assert first.outcome is Outcome.SUCCEEDED
        assert first.outcome_details == {"snapshot": snapshot, "ledger": ledger_of(SLICES[0]).document()}
        assert others == []
        assert again.written() == IDS[1:]
    else:
        assert first.outcome is Outcome.FAILED
        assert [each.outcome for each in others] == [Outcome.SUCCEEDED]
        assert again.written() == IDS


def test_a_cancellation_counts_before_the_next_slice_and_discards_what_was_begun(scene: Scene) -> None:
    scene.writer.upon[IDS[1]] = lambda: scene.ask(ControlRequest.CANCEL)
    assert scene() is ReplayEnd.CANCELLED
    assert scene.state is State.CANCELLED
    assert scene.staged == IDS[:2], "the slice at hand is finished"
    assert scene.writer.begun == []
    assert not scene.store.reader.open_intents(RUN)


def test_an_interrupt_finishes_the_slice_and_pauses(scene: Scene) -> None:
    def stop() -> None:
        scene.watching.stop = True

    scene.writer.upon[IDS[1]] = stop
    assert scene() is ReplayEnd.PAUSED
    assert (scene.state, scene.staged, scene.writer.begun) == (State.PAUSED, IDS[:2], [])
    scene.watching.stop = False
    assert scene() is ReplayEnd.STAGED
    assert scene.staged == IDS


def test_a_pause_rests_with_nothing_begun_until_it_is_resumed(scene: Scene) -> None:
    seen: list[tuple[State, list[str]]] = []

    def rest(_seconds: float) -> None:
        seen.append((scene.state, list(scene.writer.begun)))
        if len(seen) == 3:
            scene.ask(ControlRequest.RESUME)

    scene.writer.upon[IDS[1]] = lambda: scene.ask(ControlRequest.PAUSE)
    scene.replayer = replace(scene.replayer, clock=Clock(time.monotonic, rest))
    assert scene() is ReplayEnd.STAGED
    assert seen == [(State.PAUSED, [])] * 3
    assert scene.watching.rested == ["paused"] * 3
    assert scene.staged == IDS
    actions = [each.action for each in scene.store.reader.audit(run_id=RUN)]
    assert (actions.count("run.pause"), actions.count("run.resume")) == (1, 1), "paused once, however long it rests"


def test_a_paused_run_can_be_cancelled(scene: Scene) -> None:
    scene.writer.upon[IDS[0]] = lambda: scene.ask(ControlRequest.PAUSE)
    cancel = Clock(time.monotonic, lambda _seconds: scene.ask(ControlRequest.CANCEL))
    scene.replayer = replace(scene.replayer, clock=cancel)
    assert scene() is ReplayEnd.CANCELLED
    assert (scene.state, scene.staged) == (State.CANCELLED, IDS[:1])


def test_a_limit_holds_inside_a_slice_also_while_the_control_database_is_silent(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share of a budget runs out then, and reading has to stop although nothing can be asked or noted."""
    now = Allowance("budget", "a share", 1000)

    class Source:
        def allowance(self) -> Allowance:
            return now

    def silent(*_: object, **__: object) -> None:
        raise BrokenError("no answer", state="as before", hint="wait")

    def go_silent() -> None:
        nonlocal now
        with monkeypatch.context() as patched:
            patched.setattr(type(scene.store.reader), "audit", silent)
            patched.setattr(type(scene.store.writer), "note_pace", silent)
            now = Allowance("budget", "not confirmed", 1, paused=True)
            deadline = time.monotonic() + 30
            while scene.writer.rates[-1] != 1 and time.monotonic() < deadline:
                time.sleep(0.05)
        seen.append(scene.writer.rates[-1])
        now = UNLIMITED

    seen: list[int | None] = []
    scene.writer.upon[IDS[1]] = go_silent
    pacing = Pacing([Source()], changed=lambda allowance: record_change(scene.lease, lambda _: None, allowance))
    scene.replayer = replace(scene.replayer, pacing=pacing)
    assert scene() is ReplayEnd.STAGED
    assert seen == [1]


def test_starting_again_answers_a_pause_that_was_asked_for_before(scene: Scene) -> None:
    scene.ask(ControlRequest.PAUSE)
    assert scene() is ReplayEnd.STAGED
    assert scene.watching.rested == []


@pytest.mark.parametrize("end", [ReplayEnd.PAUSED, ReplayEnd.CANCELLED])
def test_a_limit_of_the_contract_ends_it_between_slices(scene: Scene, end: ReplayEnd) -> None:
    answers = iter([None, None, end])
    scene.replayer = replace(scene.replayer, limits=lambda: next(answers))
    assert scene() is end
    assert scene.staged == IDS[:2]
    assert scene.writer.begun == []


def test_the_contract_s_rate_and_its_changes_reach_the_writer(scene: Scene) -> None:
    scene.replayer = replace(scene.replayer, bytes_per_second=1000)
    scene.writer.upon[IDS[1]] = lambda: scene.ask(ControlRequest.THROTTLE, bytes_per_second=50)
    assert scene() is ReplayEnd.STAGED
    assert set(scene.writer.rates) == {1000, 50}
    changed = scene.writer.rates.index(50)
    assert set(scene.writer.rates[changed:]) == {50}, "never back to the old one"


def test_a_rate_that_is_changed_during_a_slice_counts_for_that_slice(scene: Scene) -> None:
    def changed() -> None:
        scene.ask(ControlRequest.THROTTLE, bytes_per_second=50)
        deadline = time.monotonic() + 30
        while scene.writer.rates[-1] != 50 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert scene.writer.rates[-1] == 50

    scene.writer.upon[IDS[0]] = changed
    assert scene(IDS[0]) is ReplayEnd.STAGED
    assert IDS[0] in scene.watching.looked_at


def test_under_a_rate_one_slice_follows_and_only_once_the_one_at_hand_is_read(scene: Scene) -> None:
    scene.replayer = replace(scene.replayer, bytes_per_second=1000)
    scene()
    a, b, c = IDS[:3]
    assert scene.writer.log[:7] == [
        ("begin", a),
        ("read", a),
        ("begin", b),
        ("write", a),
        ("read", b),
        ("begin", c),
        ("write", b),
    ]


@pytest.mark.parametrize("request_", [ControlRequest.PAUSE, ControlRequest.CANCEL, None])
def test_under_a_rate_nothing_is_begun_for_a_run_that_is_about_to_stop(
    scene: Scene, request_: ControlRequest | None
) -> None:
    def stop() -> None:
        if request_ is None:
            scene.watching.stop = True
        else:
            scene.ask(request_)

    def go_away(_seconds: float) -> None:
        scene.watching.stop = True

    scene.writer.upon_read = stop
    clock = Clock(time.monotonic, go_away)
    scene.replayer = replace(scene.replayer, bytes_per_second=1000, clock=clock)
    assert scene() in (ReplayEnd.PAUSED, ReplayEnd.CANCELLED)
    assert scene.writer.log == [("begin", IDS[0]), ("read", IDS[0]), ("write", IDS[0])]


def test_whoever_was_superseded_stops_and_changes_nothing_more(scene: Scene) -> None:
    scene.writer.upon[IDS[1]] = lambda: taken_over(scene.store)
    with pytest.raises(SupersededError):
        scene()
    assert scene.state is State.REPLAYING, "the run is the other's, and has not failed"
    assert len(scene.written()) == 2
    assert scene.journal() == [(IDS[0], Outcome.SUCCEEDED), (IDS[1], None)]
    assert scene.writer.begun == []


def test_an_error_of_whoever_was_superseded_does_not_fail_the_other_s_run(scene: Scene) -> None:
    def lose() -> None:
        taken_over(scene.store)
        broken()

    scene.guard.upon = {2: lose}
    with pytest.raises(SupersededError):
        scene()
    assert scene.state is State.REPLAYING


@pytest.mark.parametrize("state", [State.PAUSED, State.FAILED, State.STAGED, State.REJECTED, State.VALIDATED])
def test_a_replay_goes_on_from_every_state_that_allows_it(store: SqlRunStore, state: State) -> None:
    scene = scene_of(store, epoch=walked_to(store, state).epoch)
    assert scene() is ReplayEnd.STAGED
    assert (scene.state, scene.staged) == (State.STAGED, IDS)


def test_two_variants_go_each_into_a_staging_of_its_own(scene: Scene) -> None:
    other, epoch = MemoryWriter(scene.table), scene.lease.epoch
    control = Staging(RUN, epoch, name_of(epoch, control=True), ROOT, PART, control=True)
    variants = (
        scene.replayer.variants[0],
        ReplayVariant(ControlSlice.name, control, other),
    )
    scene.table.commit(variants[1].staging.name, SLICES[0], 1)
    scene.replayer = replace(scene.replayer, variants=variants, bytes_per_second=1000)
    steps = [step for each in SLICES[:2] for step in (ReplaySlice(each), ControlSlice(each, "former"))]
    assert scene.replayer(steps) is ReplayEnd.STAGED
    assert scene.table.ids(variants[0].staging.name) == scene.table.ids(variants[1].staging.name) == IDS[:2]
    assert [what for act, what in other.log if act == "write"] == [IDS[1]]
    assert set(other.rates) == {1000}
    assert len(scene.store.reader.journal(RUN)) == 3, "the same slice of two variants is two acts"


# Services that are silent for a while. The watch is the real one; its probes are told what to answer.


def silent_service(scene: Scene, limit: timedelta | None) -> dict[str, bool]:
    answers = {"Kafka": True}
    watch = ServiceWatch({"Kafka": lambda: answers["Kafka"]}, limit, lambda _notice: None, every=0.05)
    scene.replayer = replace(scene.replayer, services=watch)
    return answers


@pytest.mark.parametrize("committed", [False, True])
def test_a_slice_that_fails_in_an_outage_is_done_once_the_service_answers(scene: Scene, committed: bool) -> None:
    answers = silent_service(scene, None)
    attempts = iter(range(9))

    def go_silent() -> None:
        if next(attempts) == 0:
            answers["Kafka"] = False
            broken()

    (scene.writer.after_commit if committed else scene.writer.upon)[IDS[1]] = go_silent
    discard_prefetched = scene.writer.discard_prefetched

    def answers_again() -> None:
        discard_prefetched()
        answers["Kafka"] = True

    scene.writer.discard_prefetched = answers_again  # type: ignore[method-assign]
    assert scene() is ReplayEnd.STAGED
    assert scene.staged == IDS, "each once, also where the commit was made and the answer lost"
    assert scene.state is State.STAGED
    outcomes = [outcome for slice_id, outcome in scene.journal() if slice_id == IDS[1]]
    assert outcomes == ([Outcome.SUCCEEDED] if committed else [Outcome.FAILED, Outcome.SUCCEEDED])


def test_an_outage_beyond_the_limit_pauses_the_run(scene: Scene) -> None:
    answers = silent_service(scene, timedelta(0))

    def go_silent() -> None:
        answers["Kafka"] = False
        broken()

    scene.writer.upon[IDS[1]] = go_silent
    with pytest.raises(OutageError):
        scene()
    assert (scene.state, scene.staged, scene.writer.begun) == (State.PAUSED, IDS[:1], [])
    [pause] = [each for each in scene.store.reader.audit(run_id=RUN) if each.action == "run.pause"]
    assert json.loads(pause.details)["service"] == "Kafka"

    again = scene_of(scene.store, scene.table, leased(scene.store).epoch)
    assert again() is ReplayEnd.STAGED
    assert again.staged == IDS
    attempts = [outcome for slice_id, outcome in again.journal() if slice_id == IDS[1]]
    assert attempts == [Outcome.FAILED, Outcome.SUCCEEDED]


def test_whoever_is_superseded_in_an_outage_does_not_wait_for_it(scene: Scene) -> None:
    answers = silent_service(scene, timedelta(0))

    def overtaken() -> None:
        answers["Kafka"] = False
        taken_over(scene.store)

    scene.writer.upon[IDS[1]] = overtaken
    with pytest.raises(SupersededError):
        scene()
    assert scene.state is State.REPLAYING


def taken_over(store: SqlRunStore) -> None:
    store.writer.acquire(RUN, "host-b:2", timedelta(minutes=1), actor="bob", take_over=True)


@dataclass
class Governor:
    """Allows no slice to begin the first few times it is asked."""

    holds: int
    asked: int = 0

    def allowance(self) -> Allowance:
        self.asked += 1
        return Allowance("governor", "live lag 41 s", 1_000, paused=True) if self.asked <= self.holds else UNLIMITED


def test_a_source_that_pauses_holds_the_next_slice_and_leaves_the_state(store: SqlRunStore) -> None:
    scene = scene_of(store)
    seen: list[tuple[State, list[str]]] = []
    sleeping = Clock(time.monotonic, lambda _seconds: seen.append((scene.state, scene.staged)))
    replayer = replace(scene.replayer, pacing=Pacing([Governor(holds=3)]), clock=sleeping)
    assert replayer([ReplaySlice(each) for each in SLICES]) is ReplayEnd.STAGED
    assert set(scene.watching.rested) == {"held by the governor: live lag 41 s"}
    assert seen == [(State.REPLAYING, [])] * len(scene.watching.rested)
    assert scene.staged == IDS
    assert scene.writer.rates[0] == 1_000
    assert scene.writer.rates[-1] is None


def test_controls_are_fetched_once_however_many_records_the_run_has(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    audit = type(scene.store.reader).audit

    def counting(reader: object, **query: object) -> Sequence[AuditRecord]:
        found: Sequence[AuditRecord] = audit(reader, **query)  # type: ignore[arg-type]
        fetched.extend(each.seq for each in found)
        return found

    monkeypatch.setattr(type(scene.store.reader), "audit", counting)
    for number in range(50):
        scene.store.writer.record_act("pace.changed", actor="ada", run_id=RUN, details={"number": number})
    scene.ask(ControlRequest.THROTTLE, bytes_per_second=1234)
    scene()
    assert 1234 in scene.writer.rates
    assert len(fetched) == len(set(fetched))


def test_an_operators_rate_ends_while_the_control_database_is_silent(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.ask(ControlRequest.THROTTLE, bytes_per_second=1234, seconds=0.2)
    scene.replayer._heed_rate()

    def silent(*_: object, **__: object) -> Sequence[AuditRecord]:
        raise BrokenError("no answer", state="as before", hint="wait")

    monkeypatch.setattr(type(scene.store.reader), "audit", silent)
    time.sleep(0.3)
    scene.replayer._hold()
    assert scene.writer.rates[0] == 1234
    assert scene.writer.rates[-1] is None


@dataclass
class Share:
    """A source of limits whose rate the test sets."""

    rate: int = 2000

    def allowance(self) -> Allowance:
        return Allowance("budget", "share", self.rate)


def test_a_limit_holds_while_the_note_of_the_one_before_waits_for_the_control_database(scene: Scene) -> None:
    share, noting, answered = Share(), Signal(), Signal()
    held: list[int | None] = []

    def note(allowance: Allowance) -> None:
        if allowance.bytes_per_second == 1000:
            noting.set()
            assert answered.wait(30)

    def during_the_write() -> None:
        share.rate = 1000
        assert noting.wait(30)
        share.rate = 500
        while scene.writer.rates[-1] != 500 and not answered.wait(0.1) and len(held) < 100:
            held.append(scene.writer.rates[-1])
        held.append(scene.writer.rates[-1])
        answered.set()

    scene.replayer = replace(scene.replayer, pacing=Pacing([share], changed=note))
    scene.writer.upon[IDS[0]] = during_the_write
    scene(IDS[0])
    assert held[-1] == 500


@dataclass
class Waiting(MemoryWriter):
    """A writer that waits for the slice in flight when it discards: at the rate of a standstill for ever."""

    discards: Signal = field(default_factory=Signal)
    ended: list[bool] = field(default_factory=list)

    def discard_prefetched(self) -> None:
        self.discards.set()
        for _ in range(300):
            if self.rates[-1] != STANDSTILL:
                break
            time.sleep(0.01)
        self.ended.append(self.rates[-1] != STANDSTILL)


def test_a_standstill_that_ends_lets_go_what_is_waited_for_at_the_end(scene: Scene) -> None:
    writer = Waiting(scene.table)

    @dataclass
    class Off:
        def allowance(self) -> Allowance:
            if writer.discards.is_set():
                return UNLIMITED
            return Allowance("impact", "without the replay", STANDSTILL, paused=True)

    def fail() -> None:
        raise BrokenError("the transform", state="as before", hint="fix it")

    variants = (replace(scene.replayer.variants[0], writer=writer),)
    scene.replayer = replace(scene.replayer, variants=variants, pacing=Pacing([Off()]))
    scene.watching.resting = lambda *_: fail()  # type: ignore[method-assign]
    with pytest.raises(BrokenError):
        scene(IDS[0])
    assert writer.ended == [True]
