"""Transitions: along the table, under the current epoch, each with exactly one audit record."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.conformance.run_store.conftest import OpenStore
from tests.conformance.run_store.scene import FAULT, MIDNIGHT, HandClock, leased, submitted, transition, walked_to

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.lease import SupersededError
from anabranch.runs.run import RunUnknownError
from anabranch.runs.states import TRANSITIONS, Event, IllegalTransitionError, State


@pytest.mark.parametrize(("state", "event"), sorted(TRANSITIONS))
def test_every_transition_leads_where_the_table_says_and_leaves_one_record(
    store: SqlRunStore, clock: HandClock, state: State, event: Event
) -> None:
    lease = walked_to(store, state)
    before = store.reader.audit()
    clock.advance(timedelta(seconds=5))
    run = transition(store, lease, event)
    assert run.state is TRANSITIONS[state, event]
    assert run.updated_at == MIDNIGHT + timedelta(seconds=5)
    assert store.reader.run("r1") == run
    (record,) = store.reader.audit(after=before[-1].seq)
    assert (record.action, record.from_state, record.to_state) == (f"run.{event.value}", state.value, run.state.value)
    assert (record.actor, record.run_id, record.epoch) == ("ada", "r1", lease.epoch)


def test_an_illegal_transition_changes_nothing(store: SqlRunStore) -> None:
    lease = walked_to(store, State.STAGED)
    before = store.reader.run("r1"), store.reader.audit()
    with pytest.raises(IllegalTransitionError):
        transition(store, lease, Event.PROMOTE)
    assert (store.reader.run("r1"), store.reader.audit()) == before


def test_a_fault_is_carried_while_the_run_is_failed(store: SqlRunStore) -> None:
    lease = walked_to(store, State.FAILED)
    assert store.reader.run("r1").fault == FAULT
    transition(store, lease, Event.RETRY)
    assert store.reader.run("r1").fault is None


def test_a_fault_goes_with_failing_and_with_nothing_else(store: SqlRunStore) -> None:
    lease = walked_to(store, State.REPLAYING)
    with pytest.raises(ValueError, match="fault"):
        store.writer.transition("r1", lease.epoch, Event.FAIL, actor="ada")
    with pytest.raises(ValueError, match="fault"):
        store.writer.transition("r1", lease.epoch, Event.PAUSE, actor="ada", fault=FAULT)
    assert store.reader.run("r1").state is State.REPLAYING


def test_details_that_are_not_plain_json_undo_the_whole_transition(store: SqlRunStore) -> None:
    lease = walked_to(store, State.PLANNED)
    with pytest.raises(TypeError):
        store.writer.transition("r1", lease.epoch, Event.START, actor="ada", details={"token": object()})
    assert store.reader.run("r1").state is State.PLANNED


@pytest.mark.parametrize("epoch", [-1, 0, 1, 3])
def test_an_epoch_that_is_not_the_current_one_changes_nothing(
    store: SqlRunStore, open_another: OpenStore, epoch: int
) -> None:
    submitted(store)
    leased(store)
    current = leased(open_another())
    assert current.epoch == 2
    before = store.reader.run("r1"), store.reader.audit()
    with pytest.raises(SupersededError, match=f"Epoch {epoch} ") as refused:
        transition(store, replace(current, epoch=epoch), Event.START)
    assert refused.value.fields["current_epoch"] == 2
    assert (store.reader.run("r1"), store.reader.audit()) == before


def test_without_a_lease_nothing_changes(store: SqlRunStore) -> None:
    submitted(store)
    with pytest.raises(SupersededError, match="it has no holder"):
        store.writer.transition("r1", 0, Event.START, actor="ada")


def test_a_run_that_is_not_there_is_said_to_be_unknown(store: SqlRunStore) -> None:
    with pytest.raises(RunUnknownError):
        store.writer.transition("nope", 1, Event.START, actor="ada")
