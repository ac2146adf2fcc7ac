"""The hours of a contract: over midnight, on some days, across a change of clocks, and how long work takes in them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from anabranch.contract.backfill import Hours, Schedule
from anabranch.plan.forecast.hours import end_of_work, hours_words, is_open, next_opening
from anabranch.project.model import as_plain
from anabranch.replay.hours_source import HoursSource

NIGHT = {"from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"}


def hours(**changes: object) -> Hours:
    return Hours.model_validate({**NIGHT, **changes})


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2025-06-01T12:00", "2025-06-01T20:00"),
        ("2025-06-01T20:00", "2025-06-01T20:00"),
        ("2025-06-02T01:30", "2025-06-02T01:30"),
        ("2025-06-02T04:00", "2025-06-02T20:00"),
        ("2025-01-01T20:30", "2025-01-01T21:00"),
    ],
    ids=["before", "at the start", "after midnight", "at the end", "in winter"],
)
def test_hours_over_midnight_in_their_time_zone(now: str, opens: str) -> None:
    assert next_opening(hours(), utc(now)) == utc(opens)
    assert is_open(hours(), utc(now)) is (now == opens)


def test_days_are_those_on_which_the_hours_start() -> None:
    friday = hours(days=["fri"])
    assert is_open(friday, utc("2025-06-07T03:00")), "the night from Friday to Saturday"
    assert not is_open(friday, utc("2025-06-08T03:00"))
    assert next_opening(friday, utc("2025-06-07T05:00")) == utc("2025-06-13T20:00")


def test_the_night_of_a_change_of_clocks_is_an_hour_shorter() -> None:
    """On 30 March 2025 clocks in Berlin went from 2 to 3."""
    begin = utc("2025-03-29T21:00")
    assert end_of_work(hours(), begin, timedelta(hours=7)) == utc("2025-03-30T04:00")
    assert end_of_work(hours(), begin, timedelta(hours=8)) == utc("2025-03-30T21:00")


def test_work_goes_on_in_the_next_hours() -> None:
    begin = utc("2025-06-01T12:00")
    assert end_of_work(hours(), begin, timedelta(hours=10)) == utc("2025-06-02T22:00")
    assert end_of_work(None, begin, timedelta(hours=10)) == utc("2025-06-01T22:00")


MOMENTS = st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(timezone.utc))
TIMES = st.times().map(lambda at: f"{at:%H:%M}")


@given(MOMENTS, TIMES, TIMES, st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"]))
def test_they_open_within_two_days_and_are_open_then(now: datetime, start: str, end: str, zone: str) -> None:
    if start == end:
        return
    every = hours(**{"from": start, "to": end, "timeZone": zone})
    opens = next_opening(every, now)
    assert now <= opens <= now + timedelta(days=2)
    assert is_open(every, opens)
    done = end_of_work(every, now, timedelta(hours=3))
    assert done >= opens + timedelta(hours=3)


def test_outside_its_hours_a_run_says_when_it_goes_on() -> None:
    now = utc("2025-06-01T12:00")
    held = HoursSource(hours(days=["sun", "mon"]), lambda: now).allowance()
    assert (held.source, held.paused, held.bytes_per_second) == ("schedule", True, None)
    assert held.reason == (
        "outside the contract's hours (22:00-06:00 Europe/Berlin on sun, mon); continues at 2025-06-01T20:00:00Z"
    )
    assert not HoursSource(hours(), lambda: utc("2025-06-01T23:00")).allowance().paused
    assert hours_words(hours()) == "22:00-06:00 Europe/Berlin"


@pytest.mark.parametrize(
    "wrong",
    [
        {"from": "22"},
        {"from": "24:00"},
        {"to": "22:00"},
        {"timeZone": "Berlin"},
        {"timeZone": None},
        {"days": []},
        {"days": ["friday"]},
    ],
    ids=str,
)
def test_what_no_hours_are_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        hours(**wrong)


def test_a_contract_keeps_its_hours_as_they_were_written() -> None:
    written = {"hours": {**NIGHT, "days": ["sat"]}, "onMiss": "pause"}
    assert as_plain(Schedule.model_validate(written)) == written
