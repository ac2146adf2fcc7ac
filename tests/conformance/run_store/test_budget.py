"""The replay budget on both databases: shares that add up, a queue that moves on, and runs whose process is gone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.conformance.run_store.scene import MIDNIGHT, HandClock, hours, leased, submitted

from anabranch.adapters.sql.budget import SqlBudgetBoard
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.replay.budget_board import HEARTBEAT_EXPIRES, BudgetView, Heartbeat, NotQueuedError
from anabranch.replay.budget_shares import Member, ReplayBudget
from anabranch.runs.lease import SupersededError

BUDGET = ReplayBudget(1000, 2)
RUNS = ("r1", "r2", "r3")


@pytest.fixture
def epochs(store: SqlRunStore) -> dict[str, int]:
    for number, run in enumerate(RUNS):
        submitted(store, run, hours(number, number + 1))
    return {run: leased(store, run).epoch for run in RUNS}


@pytest.fixture
def board(store: SqlRunStore, clock: HandClock) -> SqlBudgetBoard:
    return SqlBudgetBoard(store.engine, clock)


def beat(board: SqlBudgetBoard, run: str, held: int = 0, budget: ReplayBudget = BUDGET, **given: object) -> BudgetView:
    return board.beat(Heartbeat(run, 1, "dev", budget, held=held, **given))  # type: ignore[arg-type]


def own(view: BudgetView, run: str) -> Member:
    member = view.member(run)
    assert member is not None
    return member


@pytest.mark.usefixtures("epochs")
def test_a_share_is_given_to_another_run_only_when_it_is_acknowledged(board: SqlBudgetBoard) -> None:
    assert own(beat(board, "r1"), "r1").granted == 1000
    assert own(beat(board, "r1", 1000), "r1").granted == 1000
    assert own(beat(board, "r2"), "r2").granted == 0
    assert own(beat(board, "r1", 1000), "r1").granted == 500
    assert own(beat(board, "r2"), "r2").granted == 0
    beat(board, "r1", 500)
    assert own(beat(board, "r2"), "r2").granted == 500


@pytest.mark.usefixtures("epochs")
def test_the_third_run_waits_until_one_leaves(board: SqlBudgetBoard) -> None:
    for run in RUNS:
        view = beat(board, run)
    place = view.place("r3")
    assert place is not None
    assert place.words() == "1st of 1, waits for one of the runs r1, r2; 2 of 2 slots in use"
    board.leave("r1", 1)
    assert own(beat(board, "r3"), "r3").admitted
    assert board.view("dev", BUDGET).place("r3") is None


@pytest.mark.usefixtures("epochs")
def test_a_run_without_heartbeat_loses_slot_and_share_by_the_databases_time(
    board: SqlBudgetBoard, clock: HandClock
) -> None:
    for run in RUNS:
        beat(board, run)
    clock.advance(HEARTBEAT_EXPIRES - timedelta(seconds=1))
    for run in ("r2", "r3"):
        beat(board, run)
    assert not own(board.view("dev", BUDGET), "r3").admitted
    clock.advance(timedelta(seconds=1))
    assert board.view("dev", BUDGET).member("r1") is None, "also before anybody else's heartbeat"
    assert own(beat(board, "r3"), "r3").admitted
    assert {each.run for each in board.view("dev", BUDGET).members} == {"r2", "r3"}


@pytest.mark.usefixtures("epochs")
def test_a_waiting_run_without_heartbeat_is_no_longer_in_the_queue(board: SqlBudgetBoard, clock: HandClock) -> None:
    one = ReplayBudget(1000, 1)
    for run in RUNS:
        beat(board, run, budget=one)
    clock.advance(HEARTBEAT_EXPIRES - timedelta(seconds=1))
    for run in ("r1", "r3"):
        beat(board, run, budget=one)
    clock.advance(timedelta(seconds=1))
    place = beat(board, "r3", budget=one).place("r3")
    assert place is not None
    assert place.words() == "1st of 1, waits for run r1; 1 of 1 slots in use"


@pytest.mark.usefixtures("epochs")
def test_the_priority_is_changed_on_record_and_outlives_the_queue(store: SqlRunStore, board: SqlBudgetBoard) -> None:
    with pytest.raises(NotQueuedError):
        board.set_priority("r3", 9, actor="bob")
    for run in RUNS:
        beat(board, run)
    board.set_priority("r3", 9, actor="bob")
    assert own(board.view("dev", BUDGET), "r3").priority == 9
    assert [(each.action, each.actor, each.run_id) for each in store.reader.audit(run_id="r3")][-1] == (
        "queue.priority",
        "bob",
        "r3",
    )
    board.leave("r3", 1)
    assert own(beat(board, "r3"), "r3").priority == 9
    assert store.reader.verify_audit().flaw is None


@pytest.mark.usefixtures("epochs")
def test_a_superseded_process_takes_no_part(store: SqlRunStore, board: SqlBudgetBoard) -> None:
    beat(board, "r1")
    leased(store, "r1")
    with pytest.raises(SupersededError):
        beat(board, "r1")
    board.leave("r1", 2)
    assert own(board.view("dev", BUDGET), "r1").granted == 1000, "leaving is for the epoch that joined"


@pytest.mark.usefixtures("epochs")
def test_the_lowest_budget_of_all_processes_counts_and_contexts_are_apart(board: SqlBudgetBoard) -> None:
    beat(board, "r1")
    assert beat(board, "r2", budget=ReplayBudget(600, 1)).budget == ReplayBudget(600, 1)
    view = board.beat(Heartbeat("r3", 1, "prod", BUDGET))
    assert [each.run for each in view.members] == ["r3"]
    assert own(view, "r3").granted == 1000


@pytest.mark.usefixtures("epochs")
def test_a_run_rejoins_with_its_age(board: SqlBudgetBoard, clock: HandClock) -> None:
    clock.advance(timedelta(hours=1))
    assert own(beat(board, "r1", joined=MIDNIGHT), "r1").joined == MIDNIGHT


@pytest.mark.usefixtures("epochs")
def test_processes_at_once_never_hold_more_than_the_budget(
    open_another: Callable[[], SqlRunStore], clock: HandClock
) -> None:
    """Three connections beat as fast as they can, acknowledging what they were told one heartbeat before."""
    boards = {run: SqlBudgetBoard(open_another().engine, clock) for run in RUNS}
    most: list[int] = []

    def keep_beating(run: str) -> None:
        told = 0
        for _ in range(15):
            view = beat(boards[run], run, told, ReplayBudget(1000, 3))
            told = own(view, run).granted
            most.append(sum(max(each.held, each.granted) for each in view.members))

    with ThreadPoolExecutor(3) as together:
        list(together.map(keep_beating, RUNS))
    assert max(most) <= 1000
    assert len(most) == 45
