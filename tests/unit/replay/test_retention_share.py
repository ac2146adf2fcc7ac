"""A greater share of the replay budget against retention, over a real run store: offered, taken, given back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import hours, leased, submitted
from tests.unit.replay.test_replayer import IDS, RUN, scene_of
from tests.unit.replay.test_retention_extension import DAY, Topics
from tests.unit.replay.test_retention_guard import Cluster, Race

from anabranch.adapters.sql.budget import SqlBudgetBoard
from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.replay.budget_board import PRIORITY_SET, Heartbeat
from anabranch.replay.budget_shares import MOST_PRIORITY, USUAL_PRIORITY, ReplayBudget
from anabranch.replay.replayer import ReplayEnd
from anabranch.replay.retention_share import PriorityShare

BUDGET = ReplayBudget(1000, 2)
OTHER = "r2"
LEFT = 65.0
"""Five slices of ten seconds count as 75; at 650 instead of 500 bytes per second as 58."""


@pytest.fixture
def race(tmp_path: Path) -> Iterator[Race]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        scene = scene_of(store)
        submitted(store, OTHER, hours(6, 7))
        for run, epoch in ((RUN, scene.lease.epoch), (OTHER, leased(store, OTHER).epoch)):
            board(store).beat(Heartbeat(run, epoch, "dev", BUDGET))
        limited_by(store, "budget", scene.lease.epoch)
        yield Race(scene, Cluster(dict.fromkeys(range(5), LEFT)), Topics(7 * DAY), tick=0.1)


def board(store: SqlRunStore) -> SqlBudgetBoard:
    return SqlBudgetBoard(store.engine, store.writer.clock)


def limited_by(store: SqlRunStore, source: str, epoch: int) -> None:
    store.writer.note_pace(RUN, epoch, {"source": source, "reason": "", "bytes_per_second": 500, "paused": False})


def share(store: SqlRunStore) -> PriorityShare:
    return PriorityShare(
        board(store), lambda: board(store).view("dev", BUDGET), lambda: store.reader.pace(RUN), RUN, "ada"
    )


def priority(store: SqlRunStore) -> int:
    own = board(store).view("dev", BUDGET).member(RUN)
    assert own is not None
    return own.priority


def set_to(store: SqlRunStore) -> list[int]:
    return [json.loads(each.details)["priority"] for each in store.reader.audit(run_id=RUN, action=PRIORITY_SET)]


def test_a_greater_share_wins_the_race_and_is_given_back_at_the_end(race: Race) -> None:
    during: list[int] = []
    race.scene.writer.after_commit[IDS[0]] = lambda: during.append(priority(race.store))
    assert race.replay(replace(race.guard(), share=share(race.store))) is ReplayEnd.STAGED
    assert "with a greater share (priority 10 instead of 5" in race.notices[0]
    assert (during, priority(race.store)) == ([MOST_PRIORITY], USUAL_PRIORITY)
    assert set_to(race.store) == [MOST_PRIORITY, USUAL_PRIORITY], "on record"


@pytest.mark.parametrize("source", ["governor", "contract", "none"])
def test_it_is_not_taken_where_something_else_limits_the_run(race: Race, source: str) -> None:
    limited_by(race.store, source, race.scene.lease.epoch)
    race.replay(replace(race.guard(), share=share(race.store)))
    assert set_to(race.store) == []
    assert "the race is being lost" in race.notices[0]


def test_it_is_not_taken_with_time_enough(race: Race) -> None:
    race.cluster.left = dict.fromkeys(range(5), 1000.0)
    race.replay(replace(race.guard(), share=share(race.store)))
    assert set_to(race.store) == []


def test_a_run_that_is_alone_has_no_greater_share_to_ask_for(race: Race) -> None:
    board(race.store).leave(OTHER, race.store.reader.lease(OTHER).epoch)
    assert share(race.store).offer(lambda _: 10.0) is None


def test_a_priority_that_was_set_by_hand_meanwhile_stays(race: Race) -> None:
    def by_hand() -> None:
        board(race.store).set_priority(RUN, 2, actor="bob")

    race.scene.writer.after_commit[IDS[0]] = by_hand
    race.replay(replace(race.guard(), share=share(race.store)))
    assert (priority(race.store), set_to(race.store)) == (2, [MOST_PRIORITY, 2])
