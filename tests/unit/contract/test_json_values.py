"""The check of values with no Spark takes no good value for bad, by the very values that the decoding is held to."""

from __future__ import annotations

import pytest
from tests.unit.plan.world import pipeline
from tests.unit.spark.test_decode import BAD, COLUMNS, GOOD, TEXT_OF_ANOTHER_TYPE

from anabranch.contract.json_values import ValueCheck
from anabranch.project.scaffold import plan_project, write_project

MILDER = ("1e", "2025-02-30", "T25:00:00Z", "10:00:60Z", "2025-13-01", "0000-01-01")
"""Numbers that are too large, and moments that no calendar has: passed here, and never the other way round."""


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> ValueCheck:
    folder = tmp_path_factory.mktemp("values") / "shop"
    write_project(plan_project(folder, "shop"))
    source = {"topic": "t", "schema": COLUMNS}
    return ValueCheck(pipeline(folder, source=source, eventTime={"field": "at"}, target={"table": "a.b"}).spec)


@pytest.mark.parametrize("value", [*GOOD, *TEXT_OF_ANOTHER_TYPE])
def test_no_good_value_is_taken_for_bad(value: str, check: ValueCheck) -> None:
    assert check.problem(value.encode()) is None


def test_a_record_without_a_value_is_no_mistake(check: ValueCheck) -> None:
    assert check.problem(None) is None


def test_bad_values_are_found(check: ValueCheck) -> None:
    passed = [value.decode() for value in BAD if check.problem(value) is None]
    assert [value for value in passed if not any(word in value for word in MILDER)] == []
    assert len(passed) < len(BAD) / 8


def test_an_event_without_its_time_is_bad(check: ValueCheck) -> None:
    assert check.problem(b'{"id":"x"}') == "at, the event time, is missing"
