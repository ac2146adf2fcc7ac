"""A run held to its window and budget, on a real store with a clock set by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL
from tests.conformance.run_store.scene import MIDNIGHT, HandClock, submitted

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.contract.backfill import Schedule
from anabranch.gates.overrides import keep_override
from anabranch.plan.forecast.cost import Bill, Line
from anabranch.project.quantities import format_moment
from anabranch.replay.controls import read_controls
from anabranch.replay.limits import (
    ALERT,
    MISSED,
    DeadlineMissedError,
    Limits,
    OverBudgetError,
    WindowNotOpenError,
    stopped_by_deadline,
)
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State

DEADLINE = MIDNIGHT + timedelta(hours=4)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


class Scene:
    """A run that is being replayed, with a lease that outlives every test."""

    def __init__(self, store: SqlRunStore, clock: HandClock) -> None:
        self.store, self.clock, self.amount = store, clock, 0.0
        submitted(store)
        lease = store.writer.acquire("r1", "host:1", timedelta(days=30), actor="ada")
        self.lease = RunLease(store.reader, store.writer, "r1", lease.epoch, "ada")
        self.lease.transition(Event.START)

    def at(self, moment: datetime) -> None:
        self.clock.now = moment

    def limits(
        self, window: dict[str, Any] | None = None, budget: float | None = None, rate: int | None = None
    ) -> Limits:
        asked = None if window is None else Schedule.model_validate(window)
        return Limits(self.lease, asked, budget, rate, self.bill, self.clock)

    def missing(self, choice: str, *, rate: int | None = None, **more: str) -> Limits:
        return self.limits({"deadline": format_moment(DEADLINE), "onMiss": choice, **more}, rate=rate)

    def bill(self) -> Bill:
        return Bill((Line("coreHours", self.amount, "core hours", 1.0, "ops", 5.0, "ask ops"),), "EUR", "ours")

    def said(self, action: str) -> list[dict[str, Any]]:
        return [json.loads(each.details) for each in self.store.reader.audit(run_id="r1", action=action)]

    @property
    def state(self) -> State:
        return self.lease.run.state


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    clock = HandClock()
    with open_store(URL.create("sqlite", database=str(tmp_path / "runs.db")), clock) as store:
        yield Scene(store, clock)


@pytest.mark.parametrize(
    ("choice", "end", "state"),
    [
        ("pause", ReplayEnd.PAUSED, State.PAUSED),
        ("retry", ReplayEnd.PAUSED, State.PAUSED),
        ("rollback", ReplayEnd.CANCELLED, State.CANCELLED),
        ("scaleOut", None, State.REPLAYING),
    ],
)
def test_the_contracts_choice_is_carried_out_when_the_deadline_comes(
    scene: Scene, choice: str, end: ReplayEnd | None, state: State
) -> None:
    limits = scene.missing(choice)
    scene.at(DEADLINE - MINUTE)
    assert limits() is None
    assert (scene.state, scene.said(MISSED)) == (State.REPLAYING, [])
    scene.at(DEADLINE)
    assert limits() is end
    assert scene.state is state
    [miss] = scene.said(MISSED)
    assert (miss["choice"], miss["deadline"]) == (choice, format_moment(DEADLINE))
    stopped = stopped_by_deadline(scene.store.reader.audit(run_id="r1"))
    assert (stopped is not None) is (end is not None)
    assert stopped is None or (stopped["choice"], stopped["deadline"]) == (choice, miss["deadline"])


def test_whoever_resumes_after_a_pause_is_not_paused_again(scene: Scene) -> None:
    limits = scene.missing("pause")
    scene.at(DEADLINE)
    assert limits() is ReplayEnd.PAUSED
    scene.lease.transition(Event.RESUME)
    scene.at(DEADLINE + DAY)
    limits.require_open()
    assert limits() is None
    limits.require_for_promotion()
    scene.lease.transition(Event.PAUSE, {"reason": "interrupted"})
    assert stopped_by_deadline(scene.store.reader.audit(run_id="r1")) is None, "this time it was somebody else"
    assert len(scene.said(MISSED)) == 1


def test_a_run_that_was_put_off_goes_on_in_the_next_window_and_may_miss_it_too(scene: Scene) -> None:
    limits = scene.missing("retry", startAfter=format_moment(MIDNIGHT))
    scene.at(DEADLINE + MINUTE)
    assert limits() is ReplayEnd.PAUSED
    with pytest.raises(WindowNotOpenError, match=format_moment(MIDNIGHT + DAY)):
        limits.require_open()
    scene.at(MIDNIGHT + DAY)
    limits.require_open()
    scene.lease.transition(Event.RESUME)
    assert limits() is None
    scene.at(DEADLINE + DAY)
    assert limits() is ReplayEnd.PAUSED
    assert [each["next_deadline"] for each in scene.said(MISSED)] == [
        format_moment(DEADLINE + DAY),
        format_moment(DEADLINE + 2 * DAY),
    ]


def test_scaling_out_lifts_the_rate_if_there_is_one(scene: Scene) -> None:
    scene.at(DEADLINE)
    assert scene.missing("scaleOut", rate=1000)() is None
    records = scene.store.reader.audit(run_id="r1")
    assert read_controls(records, 1000).bytes_per_second is None


def test_scaling_out_with_no_rate_is_put_on_record_and_changes_nothing(scene: Scene) -> None:
    scene.at(DEADLINE)
    assert scene.missing("scaleOut")() is None
    assert scene.said("control.throttle") == []
    assert len(scene.said(MISSED)) == 1


@pytest.mark.parametrize(("choice", "state"), [("pause", State.VALIDATED), ("rollback", State.CANCELLED)])
def test_a_deadline_between_validation_and_promotion_stops_the_promotion(
    scene: Scene, choice: str, state: State
) -> None:
    limits = scene.missing(choice)
    scene.lease.transition(Event.STAGE)
    scene.lease.transition(Event.ACCEPT)
    limits.require_for_promotion()
    scene.at(DEADLINE)
    with pytest.raises(DeadlineMissedError, match=choice):
        limits.require_for_promotion()
    assert scene.state is state
    assert len(scene.said(MISSED)) == 1


def test_before_the_window_opens_nothing_may_begin(scene: Scene) -> None:
    limits = scene.limits({"startAfter": format_moment(MIDNIGHT + MINUTE)})
    with pytest.raises(WindowNotOpenError):
        limits.require_open()
    scene.at(MIDNIGHT + MINUTE)
    limits.require_open()


def test_over_budget_is_an_error_until_somebody_answers_for_it(scene: Scene) -> None:
    limits = scene.limits(budget=3.0)
    scene.amount = 3.0
    assert limits() is None
    scene.amount = 3.01
    with pytest.raises(OverBudgetError, match="budget is 3"):
        limits()
    contract = scene.lease.run.contract_hash
    words = {"by": "ada", "colour": "red", "words": "over", "contract": contract, "run_id": "r1"}
    keep_override(scene.store.writer, "rollback", "no matter", **words)
    with pytest.raises(OverBudgetError):
        limits()
    keep_override(scene.store.writer, "cost", "approved", **words)
    assert limits() is None


def test_a_meter_above_its_threshold_is_put_on_record_once(scene: Scene) -> None:
    limits = scene.limits()
    for amount in (5.0, 5.5, 6.0):
        scene.amount = amount
        assert limits() is None
    [alert] = scene.said(ALERT)
    assert (alert["meter"], alert["amount"]) == ("coreHours", 5.5)
    assert "ops: ask ops" in alert["what"]
