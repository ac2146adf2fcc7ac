"""How long the contract guarantees a rollback, and when a run may be closed."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from anabranch.close.horizon import (
    RollbackGuaranteedError,
    horizon_length,
    require_rollback_given_up,
    rollback_horizon,
)
from anabranch.contract.backfill import RollbackTerms
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.states import State

AT = datetime(2025, 7, 1, 12, tzinfo=timezone.utc)
WEEK = timedelta(days=7)


def entry(step: str, hours: int, outcome: Outcome | None = Outcome.SUCCEEDED) -> JournalEntry:
    at = AT + timedelta(hours=hours)
    return JournalEntry(f"r1-{step}-{hours}", "r1", 1, step, {}, at, outcome, {}, None if outcome is None else at)


JOURNAL = (
    entry("promote", 0),
    entry("rollback", 1),
    entry("promote", 2),
    entry("promote", 3, Outcome.FAILED),
    entry("validate", 4),
)


def test_it_counts_from_the_last_promotion_that_took_effect() -> None:
    horizon = rollback_horizon(State.PROMOTED, JOURNAL, WEEK)
    assert horizon is not None
    assert horizon.ends_at == AT + timedelta(hours=2) + WEEK


@pytest.mark.parametrize("state", sorted(set(State) - {State.PROMOTED}))
def test_a_run_that_production_does_not_have_gives_up_no_rollback(state: State) -> None:
    assert rollback_horizon(state, JOURNAL, WEEK) is None
    assert require_rollback_given_up("r1", None, AT, forfeit="no matter") is None


def test_within_the_horizon_closing_is_refused_with_the_time_when_it_ends() -> None:
    horizon = rollback_horizon(State.PROMOTED, JOURNAL, WEEK)
    with pytest.raises(RollbackGuaranteedError) as refused:
        require_rollback_given_up("r1", horizon, AT + WEEK, forfeit=None)
    assert "until 2025-07-08 14:00:00 UTC" in refused.value.what
    assert refused.value.fields["ends_at"] == "2025-07-08T14:00:00+00:00"
    assert 'anabranch close r1 --forfeit-rollback --reason "…"' in refused.value.remedy


def test_a_reason_counts_within_the_horizon_only() -> None:
    horizon = rollback_horizon(State.PROMOTED, JOURNAL, WEEK)
    within = require_rollback_given_up("r1", horizon, AT + WEEK, forfeit="readers agree")
    after = require_rollback_given_up("r1", horizon, AT + timedelta(hours=2) + WEEK, forfeit="readers agree")
    assert within is not None
    assert within["forfeited"] == "readers agree"
    assert after == {**within, "forfeited": None}
    assert require_rollback_given_up("r1", horizon, AT + 2 * WEEK, forfeit=None) == after


def test_a_contract_without_a_horizon_has_the_default_of_a_week() -> None:
    assert horizon_length({"spec": {"rollback": {"authority": "lead"}}}) == WEEK
    assert horizon_length({"spec": {"rollback": {"authority": "lead", "horizon": "36h"}}}) == timedelta(hours=36)
    assert "7d" in (RollbackTerms.model_fields["horizon"].description or "")
