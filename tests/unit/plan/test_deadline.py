"""What follows from a deadline that has passed: once, or with `retry` anew in the next window."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from anabranch.contract.backfill import Schedule
from anabranch.plan.forecast.deadline import current_slot, missed, too_early

START = datetime(2025, 7, 1, 20, tzinfo=timezone.utc)
DEADLINE = datetime(2025, 7, 2, 4, tzinfo=timezone.utc)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def window(**changes: Any) -> Schedule:
    said = {"startAfter": "2025-07-01T20:00:00Z", "deadline": "2025-07-02T04:00:00Z", **changes}
    return Schedule.model_validate({key: value for key, value in said.items() if value is not None})


@pytest.mark.parametrize("choice", ["pause", "retry", "scaleOut", "rollback"])
def test_before_the_deadline_nothing_is_missed_and_at_it_the_choice_is_carried_out(choice: str) -> None:
    asked = window(onMiss=choice)
    assert missed(asked, DEADLINE - MINUTE, None) is None
    found = missed(asked, DEADLINE, None)
    assert found is not None
    assert (found.choice, found.deadline) == (choice, DEADLINE)


@pytest.mark.parametrize("choice", ["pause", "scaleOut", "rollback"])
def test_whoever_goes_on_after_a_miss_was_told_and_goes_on(choice: str) -> None:
    assert missed(window(onMiss=choice), DEADLINE + DAY, DEADLINE + MINUTE) is None


def test_no_deadline_is_never_missed() -> None:
    assert missed(None, DEADLINE, None) is None
    assert missed(window(deadline=None), DEADLINE + DAY, None) is None


def test_a_retry_waits_for_the_same_hours_of_the_next_day_and_may_miss_those_too() -> None:
    asked, first = window(onMiss="retry"), DEADLINE + MINUTE
    found = missed(asked, first, None)
    assert found is not None
    assert found.next_slot is not None
    assert (found.next_slot.start, found.next_slot.deadline) == (START + DAY, DEADLINE + DAY)
    assert too_early(asked, first, first) == START + DAY
    assert too_early(asked, START + DAY, first) is None
    assert missed(asked, START + DAY, first) is None
    again = missed(asked, DEADLINE + DAY, first)
    assert again is not None
    assert again.next_slot is not None
    assert again.next_slot.deadline == DEADLINE + 2 * DAY


def test_a_retry_that_is_noticed_days_later_waits_for_a_window_to_come() -> None:
    found = current_slot(window(onMiss="retry"), DEADLINE + 3 * DAY + MINUTE)
    assert found is not None
    assert found.deadline == DEADLINE + 4 * DAY


def test_a_window_that_has_not_opened_yet_says_when_it_does() -> None:
    assert too_early(window(), START - MINUTE, None) == START
    assert too_early(window(deadline=None), START - MINUTE, None) == START
    assert too_early(window(startAfter=None), START - MINUTE, None) is None
    assert too_early(window(), START, None) is None
