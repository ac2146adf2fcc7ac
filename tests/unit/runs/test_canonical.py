"""One spelling for JSON and instants."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.properties import effort

from anabranch.runs.canonical import canonical, instant, instant_text
from anabranch.runs.states import State

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@effort(100, soak=5000)
@given(JSON)
def test_it_reads_back_as_it_was_and_is_plain_ascii(document: object) -> None:
    text = canonical(document)
    assert json.loads(text) == document
    assert text.isascii()
    assert text.isprintable()


@effort(100, soak=5000)
@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(document: dict[str, int]) -> None:
    assert canonical(dict(reversed(document.items()))) == canonical(document)


@pytest.mark.parametrize(
    "value",
    [b"x", (1,), {1: 2}, {"a": {3}}, [Path()], {"at": datetime.max}, State.PAUSED, object(), math.nan, math.inf],
    ids=lambda value: type(value).__name__,
)
def test_anything_but_plain_json_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=r"^\$"):
        canonical(value)


@effort(100, soak=5000)
@given(st.datetimes(datetime(1970, 1, 1), datetime(2400, 1, 1), timezones=st.timezones()))
def test_an_instant_survives_as_text(moment: datetime) -> None:
    assert instant(instant_text(moment)) == moment.astimezone(timezone.utc)


@effort(100, soak=5000)
@given(st.datetimes(datetime(1970, 1, 1)), st.timedeltas(timedelta(microseconds=1), timedelta(days=9)))
def test_text_sorts_as_time_does(moment: datetime, later: timedelta) -> None:
    earlier = min(moment, datetime(9990, 1, 1)).replace(tzinfo=timezone.utc)
    assert instant_text(earlier) < instant_text(earlier + later)


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        instant_text(datetime(2025, 6, 1))
