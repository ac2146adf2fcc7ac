"""Durations, sizes, percentages and moments: what is written is what is meant."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from anabranch.project.quantities import (
    LONGEST,
    format_duration,
    format_moment,
    format_rate,
    parse_duration,
    parse_moment,
    parse_percentage,
    parse_size,
)


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=LONGEST // timedelta(milliseconds=1)))
def test_a_duration_survives_writing_and_reading(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@settings(deadline=None)
@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_a_moment_survives_writing_and_reading_in_any_zone(moment: datetime, offset: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    assert parse_moment(zoned.isoformat()) == zoned
    assert parse_moment(format_moment(zoned)) == zoned


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("7d", 604800), ("2w", 1209600), ("250ms", 0.25)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


def test_sizes_and_percentages() -> None:
    assert [parse_size(size) for size in (5, "5MB", "20 MiB", "1GiB")] == [5, 5 * 10**6, 20 * 2**20, 2**30]
    assert [parse_percentage(text) for text in ("0%", "0.5%", "100%")] == [0, 0.005, 1]


@pytest.mark.parametrize("parse", [parse_duration, parse_size, parse_percentage, parse_moment])
@pytest.mark.parametrize("value", ["", "x", "-5m", "5", True, None, 1.5, [], "1h 30", "٣d", "2025-06-01T25:00:00Z"])
def test_nonsense_is_refused(parse: Callable[[object], object], value: object) -> None:
    with pytest.raises(PydanticCustomError):
        parse(value)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0 B/s"),
        (1, "1 B/s"),
        (100, "0.1 kB/s"),
        (49_999, "50.0 kB/s"),
        (99_999, "100.0 kB/s"),
        (100_000, "0.1 MB/s"),
        (2_000_000, "2.0 MB/s"),
        (2_500_000_000, "2,500.0 MB/s"),
    ],
)
def test_a_low_rate_is_not_shown_as_none(rate: float, text: str) -> None:
    assert format_rate(rate) == text
