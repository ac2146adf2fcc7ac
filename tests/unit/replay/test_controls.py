"""Operators' requests, folded: rates and exemptions that end by themselves, from the moment of the database."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone

import pytest

from anabranch.replay.controls import (
    ControlRequest,
    ReplayOverError,
    operator_limits,
    read_controls,
    require_replay_to_come,
)
from anabranch.runs.audit import GENESIS, AuditRecord
from anabranch.runs.canonical import instant_text
from anabranch.runs.states import State

NOON = datetime(2025, 6, 1, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


def request(request: ControlRequest, at: datetime = NOON, **details: object) -> AuditRecord:
    text = json.dumps(details)
    return AuditRecord(1, instant_text(at), "bob", "r1", request.value, None, None, None, text, GENESIS, GENESIS)


def test_a_rate_with_an_end_counts_until_then_and_then_the_contracts_again() -> None:
    records = [request(ControlRequest.THROTTLE, bytes_per_second=100, seconds=3600.0)]
    before, after = (read_controls(records, 500, NOON + HOUR + by) for by in (-timedelta(seconds=1), timedelta(0)))
    assert (before.bytes_per_second, before.source, before.until) == (100, "throttle", NOON + HOUR)
    assert (after.bytes_per_second, after.source, after.until) == (500, "contract", None)
    assert before.allowance.reason == "set with anabranch throttle until 2025-06-01T13:00:00Z"


def test_after_a_rate_with_an_end_the_lasting_one_counts_again() -> None:
    records = [
        request(ControlRequest.THROTTLE, bytes_per_second=300),
        request(ControlRequest.THROTTLE, bytes_per_second=None, seconds=60.0),
    ]
    assert read_controls(records, 500, NOON).bytes_per_second is None
    assert read_controls(records, 500, NOON + HOUR).bytes_per_second == 300


def test_a_lasting_rate_replaces_one_with_an_end() -> None:
    records = [
        request(ControlRequest.THROTTLE, bytes_per_second=100, seconds=3600.0),
        request(ControlRequest.THROTTLE, bytes_per_second=300),
    ]
    assert read_controls(records, 500, NOON).bytes_per_second == 300


def test_an_exemption_ends_and_is_shown_with_its_reason() -> None:
    records = [request(ControlRequest.EXEMPT, source="governor", seconds=60.0, reason="month end")]
    controls = read_controls(records, None, NOON + timedelta(seconds=59))
    assert set(controls.exemptions) == {"governor"}
    assert operator_limits(controls)["exemptions"] == [
        {"source": "governor", "until": "2025-06-01T12:01:00Z", "reason": "month end", "by": "bob"}
    ]
    assert read_controls(records, None, NOON + timedelta(seconds=60)).exemptions == {}


@pytest.mark.parametrize("state", sorted(State, key=str))
def test_a_cancelled_or_closed_run_takes_no_request(state: State) -> None:
    over = state in (State.CANCELLED, State.CLOSING, State.CLOSED)

    with pytest.raises(ReplayOverError, match=f"is {state.value}") if over else nullcontext():
        require_replay_to_come("r1", state)
