"""Three operators in any interleaving, their clocks ten minutes apart: the store does what the model says."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import URL
from tests.conformance.run_store.conftest import emptied, sqlite_url
from tests.conformance.run_store.model import ModelStore, Refused, as_modelled
from tests.conformance.run_store.scene import FAULT, MINUTE, HandClock, hours, new_run
from tests.fixtures.properties import effort

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.runs.journal import Outcome
from anabranch.runs.ranges import TargetRange
from anabranch.runs.states import ACTIVE, Event, legal_events

Answer = TypeVar("Answer")

SKEWS = {"ada": timedelta(0), "bob": timedelta(minutes=10), "eve": -timedelta(minutes=10)}
RUNS = ("r1", "r2", "r3", "r4")

operators = st.sampled_from(sorted(SKEWS))
run_ids = st.sampled_from(RUNS)
targets = st.builds(hours, st.sampled_from([0, 1, 2, None]), st.sampled_from([3, 4, None]), st.sampled_from(["a", "b"]))
contracts = st.sampled_from(["c1", "c2", "c3", "c4"])
intents = st.sampled_from(["i1", "i2", "i3"])


@dataclass
class Operator:
    """Somebody with a store and a clock of their own, who remembers the epochs they were once given."""

    store: SqlRunStore
    clock: HandClock
    epochs: dict[str, int] = field(default_factory=dict)

    def epoch_of(self, run_id: str) -> int:
        return self.epochs.get(run_id, 0)


def refusal_of(modelled: Callable[[], object]) -> str | None:
    try:
        modelled()
    except Refused as refusal:
        return refusal.code
    return None


class Operators(RuleBasedStateMachine):
    open_database: Callable[[], URL]

    @initialize()
    def begin(self) -> None:
        url = type(self).open_database()
        clocks = {name: HandClock(skew=skew) for name, skew in SKEWS.items()}
        self.operators = {name: Operator(open_store(url, clock), clock) for name, clock in clocks.items()}
        self.reader = self.operators["ada"].store.reader
        self.model = ModelStore()
        self.seen: list[tuple[str, str | None, str | None, str | None, int | None]] = []
        self.epochs: dict[str, int] = {}

    def agree(self, modelled: Callable[[], object], done: Callable[[], Answer]) -> Answer | None:
        """Both succeed, or both refuse for the same reason."""
        refusal = refusal_of(modelled)
        if refusal is None:
            return done()
        with pytest.raises(AnabranchError) as refused:
            done()
        assert refused.value.code == refusal
        return None

    @rule(name=operators, run_id=run_ids, wanted=targets, contract=contracts)
    def submit(self, name: str, run_id: str, wanted: TargetRange, contract: str) -> None:
        led_to: list[str] = []
        submission = self.agree(
            lambda: led_to.append(self.model.submit(run_id, wanted, contract)),
            lambda: self.operators[name].store.writer.submit(new_run(run_id, wanted, contract), actor=name),
        )
        assert ([submission.run.id] if submission else []) == led_to

    @precondition(lambda self: self.model.runs)
    @rule(name=operators, data=st.data(), minutes=st.integers(1, 12), take_over=st.booleans())
    def acquire(self, name: str, data: st.DataObject, minutes: int, take_over: bool) -> None:
        self.take_lease(name, self.some_run(data), timedelta(minutes=minutes), take_over)

    def take_lease(self, name: str, run_id: str, ttl: timedelta, take_over: bool) -> None:
        operator = self.operators[name]
        lease = self.agree(
            lambda: self.model.acquire(run_id, name, ttl, operator.clock(), take_over),
            lambda: operator.store.writer.acquire(run_id, name, ttl, actor=name, take_over=take_over),
        )
        if lease is not None:
            assert lease.epoch == self.model.runs[run_id].epoch
            operator.epochs[run_id] = lease.epoch

    @precondition(lambda self: self.model.runs)
    @rule(name=operators, data=st.data())
    def renew(self, name: str, data: st.DataObject) -> None:
        run_id, operator = self.some_run(data), self.operators[name]
        epoch = operator.epoch_of(run_id)
        lease = self.agree(
            lambda: self.model.renew(run_id, epoch, MINUTE, operator.clock()),
            lambda: operator.store.writer.renew(run_id, epoch, MINUTE),
        )
        assert lease is None or lease.expires_at == self.model.runs[run_id].expires_at

    @precondition(lambda self: self.model.runs)
    @rule(name=operators, data=st.data())
    def release(self, name: str, data: st.DataObject) -> None:
        run_id, operator = self.some_run(data), self.operators[name]
        epoch = operator.epoch_of(run_id)
        self.agree(
            lambda: self.model.release(run_id, epoch), lambda: operator.store.writer.release(run_id, epoch, actor=name)
        )

    @precondition(lambda self: self.model.runs)
    @rule(name=operators, data=st.data(), event=st.sampled_from(Event))
    def attempt_any_event(self, name: str, data: st.DataObject, event: Event) -> None:
        self.transition(name, self.some_run(data), event)

    @precondition(lambda self: any(legal_events(run.state) for run in self.model.runs.values()))
    @rule(name=operators, data=st.data(), steps=st.integers(1, 6), may_end=st.sampled_from([False, False, True]))
    def go_on(self, name: str, data: st.DataObject, steps: int, may_end: bool) -> None:
        """A stretch of legal events by whoever holds the lease, so that runs get far in life."""
        living = [run_id for run_id, run in self.model.runs.items() if legal_events(run.state)]
        run_id = data.draw(st.sampled_from(sorted(living)))
        run = self.model.runs[run_id]
        if run.holder is None:
            self.take_lease(name, run_id, MINUTE, take_over=False)
        for _ in range(steps):
            # Ending is not for every stretch, or few runs would get past the first states.
            ends = () if may_end else (Event.CANCEL, Event.CLOSE)
            onward = [event for event in legal_events(run.state) if event not in ends]
            if onward:
                self.transition(str(run.holder), run_id, data.draw(st.sampled_from(onward)))

    def transition(self, name: str, run_id: str, event: Event) -> None:
        operator = self.operators[name]
        epoch, fault = operator.epoch_of(run_id), FAULT if event is Event.FAIL else None
        run = self.agree(
            lambda: self.model.transition(run_id, epoch, event),
            lambda: operator.store.writer.transition(run_id, epoch, event, actor=name, fault=fault),
        )
        assert run is None or run.state is self.model.runs[run_id].state

    @precondition(lambda self: self.model.runs)
    @rule(name=operators, data=st.data(), intent=intents)
    def intend(self, name: str, data: st.DataObject, intent: str) -> None:
        run_id, operator = self.some_run(data), self.operators[name]
        epoch = operator.epoch_of(run_id)
        self.agree(
            lambda: self.model.intend(run_id, epoch, intent),
            lambda: operator.store.writer.record_intent(run_id, epoch, "step", intent=intent),
        )

    @precondition(lambda self: self.model.journal)
    @rule(name=operators, intent=intents, outcome=st.sampled_from(Outcome))
    def settle(self, name: str, intent: str, outcome: Outcome) -> None:
        operator = self.operators[name]
        epoch = operator.epoch_of(self.model.journal[intent][0]) if intent in self.model.journal else 0
        self.agree(
            lambda: self.model.settle(intent, epoch, outcome),
            lambda: operator.store.writer.record_outcome(intent, epoch, outcome),
        )

    @rule(minutes=st.integers(-3, 15))
    def let_time_pass(self, minutes: int) -> None:
        for operator in self.operators.values():
            operator.clock.advance(timedelta(minutes=minutes))

    def some_run(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.runs)))

    @invariant()
    def the_store_holds_what_the_model_holds(self) -> None:
        runs = {run.id: run for run in self.reader.runs()}
        assert {each: (run.state, run.target, run.epoch) for each, run in runs.items()} == {
            each: (run.state, run.target, run.epoch) for each, run in self.model.runs.items()
        }
        active = [run.target for run in runs.values() if run.state in ACTIVE]
        assert not any(one.overlaps(other) for one, other in combinations(active, 2))
        for run_id, run in self.model.runs.items():
            assert run.epoch >= self.epochs.get(run_id, 0)
            self.epochs[run_id] = run.epoch

    @invariant()
    def every_change_has_one_audit_record_and_the_chain_holds(self) -> None:
        self.seen += [as_modelled(record) for record in self.reader.audit(after=len(self.seen))]
        assert self.seen == self.model.audit
        assert self.reader.verify_audit().intact

    def teardown(self) -> None:
        if not hasattr(self, "operators"):
            return
        try:
            entries = [entry for run_id in self.model.runs for entry in self.reader.journal(run_id)]
            assert {entry.id: (entry.run_id, entry.outcome) for entry in entries} == self.model.journal
            for run_id, run in self.model.runs.items():
                lease = self.reader.lease(run_id)
                assert (lease.epoch, lease.holder, lease.expires_at) == (run.epoch, run.holder, run.expires_at)
        finally:
            for operator in self.operators.values():
                operator.store.close()


def test_no_interleaving_of_operators_breaks_a_promise_on_sqlite(sqlite_template: Path) -> None:
    # In memory where the system has a place for it: these are thousands of commits, and no power cut is tried.
    place = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="ab-operators-", dir=place if place.is_dir() else None) as folder:
        file = Path(folder) / "anabranch.db"

        class OnSqlite(Operators):
            @staticmethod
            def open_database() -> URL:
                for old in Path(folder).iterdir():
                    old.unlink()
                shutil.copy(sqlite_template, file)
                return sqlite_url(file)

        run_state_machine_as_test(OnSqlite, settings=effort(50, soak=2000))


def test_no_interleaving_of_operators_breaks_a_promise_on_postgresql(shared_postgres_database: URL) -> None:
    class OnPostgresql(Operators):
        @staticmethod
        def open_database() -> URL:
            return emptied(shared_postgres_database)

    run_state_machine_as_test(OnPostgresql, settings=effort(5, soak=400))
