"""A contract that is submitted again finds its run; a new one is made only if none is active."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.plan.world import NOW, World, hourly

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.plan.planner import Planned
from anabranch.plan.request import with_control
from anabranch.plan.submission import submit, submit_once
from anabranch.runs.run import Run
from anabranch.runs.run_lease import acquire_run_lease
from anabranch.runs.states import Event


@pytest.fixture
def planned(world: World) -> Planned:
    return world.plan([hourly(20)])


@pytest.fixture
def store(tmp_path: Path) -> SqlRunStore:
    return open_store(f"sqlite:///{tmp_path / 'runs.db'}")


def submitted(store: SqlRunStore, planned: Planned, made: list[Run], *, control: bool = False) -> Run:
    def submit_new() -> Run:
        made.append(submit(store.writer, planned.plan, planned.request.contract, now=NOW, actor="ann"))
        return made[-1]

    contract = with_control(planned.request.backfill, wanted=control)
    return submit_once(store.reader, planned.plan.pipeline, contract, submit_new)


def test_the_active_run_of_the_same_contract_is_found_without_planning(store: SqlRunStore, planned: Planned) -> None:
    made: list[Run] = []
    first = submitted(store, planned, made)
    assert submitted(store, planned, made).id == first.id
    assert len(made) == 1


def test_a_run_of_another_contract_or_pipeline_is_not_taken_for_it(store: SqlRunStore, planned: Planned) -> None:
    run = submitted(store, planned, [])
    other = with_control(planned.request.backfill, wanted=True)
    calls: list[str] = []

    def planning() -> Run:
        calls.append("planned")
        return run

    submit_once(store.reader, planned.plan.pipeline, other, planning)
    submit_once(store.reader, "another", planned.request.backfill, planning)
    assert calls == ["planned", "planned"]


def test_a_run_that_has_ended_is_not_found(store: SqlRunStore, planned: Planned) -> None:
    run = submitted(store, planned, [])
    with acquire_run_lease(store, run.id, holder="h", actor="ann") as lease:
        lease.transition(Event.CANCEL)
        lease.transition(Event.CLOSE)
        lease.transition(Event.FINISH_CLOSING)
    calls: list[str] = []

    def planning() -> Run:
        calls.append("planned")
        return run

    submit_once(store.reader, planned.plan.pipeline, planned.request.backfill, planning)
    assert calls == ["planned"]
