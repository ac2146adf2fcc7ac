"""The next slices are read while this one is written. Whoever stops has nothing of it."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pyspark.sql import DataFrame

from anabranch.adapters.spark.native.append_writer import NativeAppendWriter
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.app.backfill import BackfillRun
from anabranch.errors import AnabranchError
from anabranch.gates.cleared import ClearedPlan
from anabranch.gates.collect import GateService
from anabranch.plan.slices import Slice
from anabranch.replay.controls import ControlRequest
from anabranch.replay.replayer import ReplayEnd, SliceDone
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State
from tests.scenarios.backfills import Onlooker
from tests.scenarios.shop import CONTRACT, Shop, refusal, staged_slices

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@dataclass
class Log:
    """What was begun and what was done, in order; begun twice is one."""

    words: list[str] = field(default_factory=list)

    def note(self, word: str) -> None:
        if word not in self.words:
            self.words.append(word)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log, begin = Log(), NativeAppendWriter.prefetch

    def noted(self: NativeAppendWriter, slice_: Slice) -> None:
        log.note(f"begin {slice_.id}")
        begin(self, slice_)

    monkeypatch.setattr(NativeAppendWriter, "prefetch", noted)
    return log


def replay(run: BackfillRun, watch: Onlooker) -> ReplayEnd:
    with run.lease() as lease:
        return run.replay(lease, watch).end


def loose_files(shop: Shop) -> set[str]:
    """Data files in the table's folder that no snapshot knows."""
    table = shop.table()
    known = {Path(unquote(urlsplit(path).path)).name for path in table.inspect.all_files()["file_path"].to_pylist()}
    folder = Path(unquote(urlsplit(table.location()).path))
    return {file.name for file in folder.rglob("*.parquet")} - known


def test_the_next_two_slices_are_begun_before_this_one_is_done(shop: Shop, log: Log) -> None:
    run = shop.plan(slices=4)
    first, second, third, fourth = (slice_.id for slice_ in run.plan.slices)
    assert replay(run, Onlooker(lambda slice_: log.note(f"done {slice_}"))) is ReplayEnd.STAGED
    assert log.words == [
        f"begin {first}",
        f"begin {second}",
        f"begin {third}",
        f"done {first}",
        f"begin {fourth}",
        f"done {second}",
        f"done {third}",
        f"done {fourth}",
    ]
    assert not loose_files(shop)
    shop.apply(run)
    shop.promote(run)
    shop.require(shop.corrected())


@pytest.mark.parametrize("refused", [False, True])
def test_gates_are_asked_before_the_query_is_prepared(
    shop: Shop, log: Log, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    run, called, clear = shop.plan(slices=2), LoadedTransform.__call__, GateService.clear_for_replay

    def transformed(self: LoadedTransform, events: DataFrame) -> DataFrame:
        log.note("transform")
        return called(self, events)

    def asked(gates: GateService) -> ClearedPlan:
        log.note("gates")
        if refused:
            raise AnabranchError("A gate is red.", state="All.", hint="none")
        return clear(gates)

    monkeypatch.setattr(LoadedTransform, "__call__", transformed)
    monkeypatch.setattr(GateService, "clear_for_replay", asked)
    if refused:
        assert refusal(shop.apply, run, Onlooker()).what == "A gate is red."
        assert log.words == ["gates"]
        return
    first, second = (slice_.id for slice_ in run.plan.slices)
    assert replay(run, Onlooker()) is ReplayEnd.STAGED
    assert log.words == ["gates", "transform", f"begin {first}", f"begin {second}"]


def limited(shop: Shop) -> None:
    contract: dict[str, Any] = deepcopy(CONTRACT)
    contract["spec"]["budget"] = {"bytesPerSecond": "100MiB"}
    shop.contract.write_text(json.dumps(contract))


def test_under_a_limit_one_slice_is_begun_while_the_one_before_is_committed(shop: Shop, log: Log) -> None:
    limited(shop)
    run = shop.plan(slices=3)
    first, second, third = (slice_.id for slice_ in run.plan.slices)
    assert replay(run, Onlooker(lambda slice_: log.note(f"done {slice_}"))) is ReplayEnd.STAGED
    assert log.words == [
        f"begin {first}",
        f"begin {second}",
        f"done {first}",
        f"begin {third}",
        f"done {second}",
        f"done {third}",
    ]


def test_under_a_limit_nothing_is_begun_ahead_once_a_stop_was_requested(
    shop: Shop, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have to be waited for, and under a limit that takes long."""
    limited(shop)
    run, await_read = shop.plan(slices=3), NativeAppendWriter.await_read

    def cancelled_meanwhile(self: NativeAppendWriter, slice_: Slice) -> None:
        shop.store.writer.record_act(ControlRequest.CANCEL.value, actor="ann", run_id=run.run_id, details={})
        await_read(self, slice_)

    monkeypatch.setattr(NativeAppendWriter, "await_read", cancelled_meanwhile)
    assert replay(run, Onlooker()) is ReplayEnd.CANCELLED
    assert log.words == [f"begin {run.plan.slices[0].id}"]


@dataclass
class Pausing(Onlooker):
    """Asks for a pause after the first slice, and looks around before it asks to go on."""

    shop: Shop | None = None
    run: str = ""
    found: list[tuple[State, set[str], list[int]]] = field(default_factory=list)

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None:
        super().slice_done(slice_, done, seconds)
        if len(self.seen) == 1:
            self._ask(ControlRequest.PAUSE)

    def resting(self, seconds: float, reason: str) -> None:
        assert self.shop is not None
        jobs = self.shop.spark.session.sparkContext.statusTracker().getActiveJobsIds()
        self.found.append((self.shop.again(self.run).run.state, loose_files(self.shop), jobs))
        self._ask(ControlRequest.RESUME)

    def _ask(self, wish: ControlRequest) -> None:
        assert self.shop is not None
        self.shop.store.writer.record_act(wish.value, actor="ann", run_id=self.run, details={})


def test_a_pause_lets_go_of_what_was_begun_and_going_on_is_exact(shop: Shop, log: Log) -> None:
    run = shop.plan(slices=3)
    watch = Pausing(shop=shop, run=run.run_id)
    assert replay(run, watch) is ReplayEnd.STAGED
    assert watch.found == [(State.PAUSED, set(), [])]
    assert log.words[1] == f"begin {run.plan.slices[1].id}", "there was something to let go of"
    assert watch.seen == [slice_.id for slice_ in run.plan.slices]
    shop.apply(run)
    shop.promote(run)
    shop.require(shop.corrected())


class Interrupting(Onlooker):
    def interrupted(self) -> bool:
        return bool(self.seen)


@pytest.mark.parametrize("how", ["interrupted", "cancelled"])
def test_a_run_is_said_to_have_stopped_when_nothing_is_read_any_more(
    shop: Shop, log: Log, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    run, transition, found = shop.plan(slices=3), RunLease.transition, list[set[str]]()

    def looked_around(self: RunLease, event: Event, *details: Any) -> None:
        if event in (Event.PAUSE, Event.CANCEL):
            found.append(loose_files(shop))
        transition(self, event, *details)

    def cancel(_: str) -> None:
        shop.store.writer.record_act(ControlRequest.CANCEL.value, actor="ann", run_id=run.run_id, details={})

    monkeypatch.setattr(RunLease, "transition", looked_around)
    end = replay(run, Interrupting() if how == "interrupted" else Onlooker(cancel))
    assert end is (ReplayEnd.PAUSED if how == "interrupted" else ReplayEnd.CANCELLED)
    assert log.words[1] == f"begin {run.plan.slices[1].id}"
    assert found == [set()]
    assert staged_slices(run) == 1


def test_whoever_interrupts_a_replay_leaves_no_file_of_the_next_slice(shop: Shop, log: Log) -> None:
    run = shop.plan(slices=3)
    assert replay(run, Interrupting()) is ReplayEnd.PAUSED
    assert log.words[1] == f"begin {run.plan.slices[1].id}"
    assert not loose_files(shop)
    assert staged_slices(run) == 1


def test_an_error_leaves_no_file_of_the_next_slice(shop: Shop, log: Log) -> None:
    file = shop.project_context.folder / "transforms" / "orders.py"
    run = shop.plan(slices=3)
    changed = Onlooker(lambda _: file.write_text(file.read_text() + "\n# another word\n"))
    assert refusal(shop.apply, run, changed).code == "plan.code-changed"
    assert log.words[1] == f"begin {run.plan.slices[1].id}"
    assert not loose_files(shop)
    assert run.run.state is State.FAILED
