"""What a replay's process has noted: ages go on while nobody writes, and nothing is made up."""

import json
from dataclasses import replace
from datetime import datetime
from math import log
from typing import Any

import pytest
from tests.unit.monitoring.test_run_samples import LEASE, NOW, PACE, READING, RUN, SECOND, TALLY, values

from anabranch.gates.evidence import ACTION
from anabranch.gates.impact.measured import KIND
from anabranch.monitoring.noted import MeasuredImpacts, SignalAges, headroom
from anabranch.monitoring.run_samples import DatabaseReading, OpenRun
from anabranch.replay.budget_board import BudgetView
from anabranch.replay.budget_shares import Member, ReplayBudget
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant_text
from anabranch.runs.pace import Pace
from anabranch.runs.retention import RetentionNote
from anabranch.runs.states import State


def pace(at: datetime = NOW, **governor: Any) -> Pace:
    signals = [
        {"signal": "lag", "value": 12.0, "target": 10.0, "pressure": 1.2},
        {"signal": "latency", "value": 0.4, "target": 1.0, "pressure": 0.4},
    ]
    noted = {"signals": signals, "age_seconds": 2.0, "lag_seconds": 12.0, "silent": {}, **governor}
    return Pace(at, {**PACE.details, "governor": noted})


def test_an_age_grows_while_the_process_notes_nothing() -> None:
    ages = SignalAges()
    assert ages.after("r1", pace(), NOW) == {"lag": 2.0, "latency": 2.0}
    assert ages.after("r1", pace(), NOW + 10 * SECOND) == {"lag": 12.0, "latency": 12.0}


def test_a_lost_signal_ages_from_when_it_was_read_last_and_one_that_was_never_read_from_when_it_was_missed() -> None:
    ages = SignalAges()
    ages.after("r1", pace(), NOW)
    lost = pace(NOW + 30 * SECOND, signals=[], silent={"lag": "Kafka does not answer", "batch": "no driver"})
    assert ages.after("r1", lost, NOW + 30 * SECOND) == {"lag": 30.0, "batch": 0.0}
    assert ages.after("r1", lost, NOW + 90 * SECOND) == {"lag": 90.0, "batch": 60.0}


def test_a_replay_without_a_governor_or_with_one_that_is_off_has_no_signals() -> None:
    assert SignalAges().after("r1", PACE, NOW) == {}
    assert SignalAges().after("r1", Pace(NOW, {**PACE.details, "governor": {"off": "by the contract"}}), NOW) == {}


def expiring(*moments: datetime | None, reading: bool = True) -> RetentionNote:
    partitions = [{"expires_at": None if each is None else instant_text(each)} for each in moments]
    return RetentionNote(NOW, {"reading": reading, "partitions": partitions})


def test_the_headroom_is_of_the_first_record_that_expires_and_shrinks_by_itself() -> None:
    note = expiring(None, NOW + 100 * SECOND, NOW + 40 * SECOND)
    assert headroom(note, NOW) == 40
    assert headroom(note, NOW + 50 * SECOND) == -10
    assert headroom(expiring(None), NOW) is None
    assert headroom(expiring(NOW, reading=False), NOW) is None
    assert headroom(None, NOW) is None


def measured(seq: int, run: str | None, latency: dict[str, float | None] | None) -> AuditRecord:
    details = {"subject": "contract/x", "good_until": None, "found": {"latency": latency}}
    at = instant_text(NOW)
    return AuditRecord(seq, at, "me", run, f"{ACTION}{KIND}", None, None, None, json.dumps(details), "", "")


def test_the_newest_effect_of_a_run_counts_and_one_of_a_rehearsal_is_of_no_run() -> None:
    impacts = MeasuredImpacts()
    impacts.add(
        [measured(1, "r1", {"mean": log(2), "low": log(1.5), "high": log(3)}), measured(2, None, {"mean": 9.0})]
    )
    assert impacts.by_run["r1"] == pytest.approx({"mean": 2.0, "lower": 1.5, "upper": 3.0})
    impacts.add([measured(3, "r1", {"mean": 0.0, "low": None, "high": None})])
    assert impacts.by_run == {"r1": {"mean": 1.0}}
    impacts.add([measured(4, "r1", None)])
    assert impacts.by_run == {"r1": {}}


def test_samples_of_a_governed_replay() -> None:
    opened = OpenRun(LEASE, pace(), None, expiring(NOW + 9 * SECOND), {"lower": 1.1}, {"lag": 2.0})
    found = values(replace(READING, open={"r1": opened}), "orders")
    assert found["governor_pressure_ratio", "r1", "lag"] == 1.2
    assert found["signal_age_seconds", "r1", "lag"] == 2
    assert found["live_lag_seconds", "orders"] == 12
    assert found["live_commit_latency_seconds", "orders"] == 0.4
    assert found["retention_headroom_seconds", "r1"] == 9
    assert found["impact_ratio", "r1", "lower"] == 1.1
    paused = values(replace(READING, runs=[replace(RUN, state=State.PAUSED)], open={"r1": opened}), "orders")
    assert {name for name, *_ in paused} & {
        "governor_pressure_ratio",
        "signal_age_seconds",
        "live_lag_seconds",
    } == set()


def test_of_two_replays_of_one_pipeline_the_newest_note_on_live_counts() -> None:
    other = replace(RUN, id="r2")
    opened = {
        "r1": OpenRun(LEASE, pace(NOW, lag_seconds=1.0)),
        "r2": OpenRun(LEASE, pace(NOW - SECOND, lag_seconds=2.0)),
    }
    reading = DatabaseReading(NOW, [RUN, other], {"r1": TALLY, "r2": TALLY}, opened)
    assert values(reading, "orders")["live_lag_seconds", "orders"] == 1


def test_the_budget_and_the_runs_that_wait_for_it() -> None:
    members = (Member("r1", NOW, admitted=True), Member("r2", NOW), Member("r3", NOW, wants=False))
    view = BudgetView(NOW, ReplayBudget(1_000, 1), members)
    found = values(replace(READING, budget=view), "orders")
    assert (found["budget_bytes_per_second",], found["queue_length",]) == (1_000, 1)
    assert not {("budget_bytes_per_second",), ("queue_length",)} & values(READING, "orders").keys()
