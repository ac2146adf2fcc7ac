"""Submitting: one run per contract, one active run per part of a target."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from tests.conformance.run_store.scene import MIDNIGHT, hours, new_run, submitted, walked_to

from anabranch.adapters.sql.engine import writing
from anabranch.adapters.sql.errors import StoreConstraintError
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.errors import ExitCode
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import Documents, RangeHeldError, RunIdTakenError, RunUnknownError
from anabranch.runs.states import ACTIVE, INACTIVE, State


def test_a_submitted_run_is_planned_and_nobody_has_worked_on_it(store: SqlRunStore) -> None:
    submission = store.writer.submit(new_run(), actor="ada")
    assert submission.created
    run = store.reader.run("r1")
    assert run == submission.run
    assert (run.state, run.epoch, run.author, run.pipeline) == (State.PLANNED, 0, "ada", "orders")
    assert (run.target, run.contract_hash, run.plan_hash) == (hours(0, 6), "contract-of-r1", "plan-of-r1")
    assert (run.created_at, run.updated_at, run.fault) == (MIDNIGHT, MIDNIGHT, None)


def test_contract_and_plan_are_kept(store: SqlRunStore) -> None:
    submitted(store)
    assert store.reader.documents("r1") == Documents(new_run().contract, new_run().plan)


def test_the_same_submission_again_is_the_same_run(store: SqlRunStore) -> None:
    first = store.writer.submit(new_run(), actor="ada")
    again = store.writer.submit(new_run(), actor="ada")
    assert (again.run, again.created) == (first.run, False)
    assert [record.action for record in store.reader.audit()] == ["run.submit"]


def test_the_same_submission_after_the_run_has_ended_does_not_start_it_anew(store: SqlRunStore) -> None:
    walked_to(store, State.CLOSED)
    assert not store.writer.submit(new_run(), actor="ada").created


def test_the_same_contract_under_another_id_is_the_first_run(store: SqlRunStore) -> None:
    submitted(store)
    again = store.writer.submit(new_run("r2", contract="contract-of-r1"), actor="bob")
    assert (again.run.id, again.created) == ("r1", False)
    assert [run.id for run in store.reader.runs()] == ["r1"]


def test_a_contract_whose_run_has_ended_may_be_run_again(store: SqlRunStore) -> None:
    walked_to(store, State.CANCELLED)
    again = store.writer.submit(new_run("r2", contract="contract-of-r1"), actor="bob")
    assert (again.run.id, again.created) == ("r2", True)


def test_an_id_is_not_given_twice(store: SqlRunStore) -> None:
    submitted(store)
    with pytest.raises(RunIdTakenError):
        store.writer.submit(new_run("r1", hours(10, 12), contract="another"), actor="ada")


@pytest.mark.parametrize(
    "wanted",
    [hours(*each) for each in ((0, 6), (5, 7), (2, 3), (-4, 1), (-9, 99), (5, None), (None, 1), (None, None))],
    ids=str,
)
def test_an_overlapping_range_is_refused_naming_who_holds_it(store: SqlRunStore, wanted: TargetRange) -> None:
    submitted(store)
    with pytest.raises(RangeHeldError, match="run r1") as refused:
        store.writer.submit(new_run("r2", wanted), actor="bob")
    assert refused.value.fields["run"] == "r1"
    assert refused.value.exit_code is ExitCode.CONFLICT
    assert [run.id for run in store.reader.holders(wanted)] == ["r1"]
    assert len(store.reader.audit()) == 1


@pytest.mark.parametrize("wanted", [hours(6, 7), hours(-1, 0), hours(0, 6, "lake.shop.refunds")], ids=str)
def test_what_only_touches_or_is_another_table_is_free(store: SqlRunStore, wanted: TargetRange) -> None:
    submitted(store)
    assert store.reader.holders(wanted) == []
    assert store.writer.submit(new_run("r2", wanted), actor="bob").created


@pytest.mark.parametrize("state", sorted(State))
def test_the_range_is_held_exactly_while_the_run_is_active(store: SqlRunStore, state: State) -> None:
    walked_to(store, state)
    assert [run.id for run in store.reader.holders(hours(5, 7))] == (["r1"] if state in ACTIVE else [])
    if state in INACTIVE:
        assert store.writer.submit(new_run("r2", hours(5, 7)), actor="bob").created
    else:
        with pytest.raises(RangeHeldError):
            store.writer.submit(new_run("r2", hours(5, 7)), actor="bob")


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_the_database_itself_refuses_two_active_runs_on_one_range(store: SqlRunStore, state: State) -> None:
    submitted(store)
    submitted(store, "r2", hours(6, 9))
    statement = text("UPDATE runs SET starts = starts - 1, state = :state WHERE id = 'r2'")
    with pytest.raises(StoreConstraintError), writing(store.engine) as connection:
        connection.execute(statement, {"state": state.value})
    assert store.reader.run("r2").target == hours(6, 9)


@pytest.mark.parametrize("state", sorted(INACTIVE))
def test_the_database_itself_lets_an_ended_run_overlap_and_not_come_back(store: SqlRunStore, state: State) -> None:
    submitted(store)
    submitted(store, "r2", hours(6, 9))
    with writing(store.engine) as connection:
        connection.execute(
            text("UPDATE runs SET starts = starts - 1, state = :state WHERE id = 'r2'"), {"state": state.value}
        )
    with pytest.raises(StoreConstraintError), writing(store.engine) as connection:
        connection.execute(text("UPDATE runs SET state = 'replaying' WHERE id = 'r2'"))


def test_the_database_itself_refuses_two_active_runs_of_one_contract(store: SqlRunStore) -> None:
    submitted(store)
    submitted(store, "r2", hours(6, 9))
    with pytest.raises(StoreConstraintError), writing(store.engine) as connection:
        connection.execute(text("UPDATE runs SET contract_hash = 'contract-of-r1' WHERE id = 'r2'"))


def test_runs_are_listed_by_id_and_narrowed_down(store: SqlRunStore) -> None:
    submitted(store, "r2", hours(6, 9))
    walked_to(store, State.PAUSED)
    submitted(store, "r3", hours(0, 6, "lake.shop.refunds"))
    assert [run.id for run in store.reader.runs()] == ["r1", "r2", "r3"]
    assert [run.id for run in store.reader.runs(states={State.PAUSED})] == ["r1"]
    assert [run.id for run in store.reader.runs(table="lake.shop.refunds")] == ["r3"]
    assert store.reader.runs(states=set()) == []


def test_an_unknown_run_is_said_to_be_unknown(store: SqlRunStore) -> None:
    for look in (store.reader.run, store.reader.documents, store.reader.lease, store.reader.journal):
        with pytest.raises(RunUnknownError, match="'nope'"):
            look("nope")
