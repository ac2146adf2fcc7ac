"""What a pipeline may say of its table's partitioning, and what a new table gets where it says nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from anabranch.contract.event_window import EventWindow
from anabranch.contract.partitioning import Density, PartitionField, default_unit, fields_of, time_problem

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_a_unit_is_of_the_event_time() -> None:
    assert fields_of("month") == (PartitionField("month", None),)


def test_columns_with_their_transforms() -> None:
    written = ("days(ordered_at)", "bucket(16, order_id)", "truncate( 4 ,customer)", "currency", "hour(at)")
    assert fields_of(written) == (
        PartitionField("day", "ordered_at"),
        PartitionField("bucket", "order_id", 16),
        PartitionField("truncate", "customer", 4),
        PartitionField("identity", "currency"),
        PartitionField("hour", "at"),
    )
    assert [str(field) for field in fields_of(written)][:4] == [
        *("days(ordered_at)", "bucket(16, order_id)", "truncate(4, customer)", "currency")
    ]


def test_a_column_named_like_a_unit_is_a_column_in_a_list() -> None:
    assert fields_of(["day"]) == (PartitionField("identity", "day"),)
    assert time_problem(["day"]) is not None
    assert time_problem("day") is None
    assert time_problem(["bucket(4, id)", "hours(at)"]) is None


@pytest.mark.parametrize(
    ("window", "unit"),
    [
        ({"kind": "tumbling", "size": "5m"}, "hour"),
        ({"kind": "tumbling", "size": "1h"}, "hour"),
        ({"kind": "tumbling", "size": "2h"}, "day"),
        ({"kind": "tumbling", "size": "1d"}, "day"),
        ({"kind": "tumbling", "size": "7d"}, "day"),
        ({"kind": "sliding", "size": "1d", "slide": "1h"}, "hour"),
    ],
)
def test_windows_decide_by_how_often_one_begins(window: dict[str, str], unit: str) -> None:
    declared = EventWindow.model_validate({**window, "lateness": "10m"})
    assert default_unit(declared, Density(10, 300 * DAY)) == unit, "whatever the topic has"


@pytest.mark.parametrize(
    ("density", "unit"),
    [
        (None, "hour"),
        (Density(10, 23 * HOUR), "hour"),
        (Density(24_000, DAY), "hour"),
        (Density(23_999, DAY), "day"),
        (Density(170_000, 3_440 * HOUR), "day"),
        (Density(10**9, 365 * DAY), "hour"),
    ],
)
def test_anything_else_decides_by_the_topics_density(density: Density | None, unit: str) -> None:
    assert default_unit(None, density) == unit
    session = EventWindow.model_validate({"kind": "session", "gap": "30m", "lateness": "10m"})
    assert default_unit(session, density) == unit
