"""Rows of any shape as cells: no value is mistaken for another, and differences are marked in both rows."""

from __future__ import annotations

import pytest

from anabranch.pages.row_samples import Cell, pairs_sample, rows_sample, samples_of
from anabranch.validate.measures import Difference
from anabranch.validate.result import CheckOutcome, Result

BEFORE = {"id": 7, "amount": 10, "note": None}
AFTER = {"id": 7, "amount": 12, "note": None}


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, Cell("null", placeholder=True)),
        ("", Cell("empty", placeholder=True)),
        ("null", Cell("null")),
        (1_234_567, Cell("1,234,567", "number")),
        (True, Cell("true")),
        (0.5, Cell("0.5")),
        ({"ü": [1]}, Cell('{"ü": [1]}')),
    ],
)
def test_each_value_has_a_text_of_its_own(value: object, cell: Cell) -> None:
    assert rows_sample([{"a": value}]).rows[0].cells == [cell]


def test_columns_are_those_of_all_rows_in_the_order_of_appearance() -> None:
    found = rows_sample([{"b": "x"}, {"a": "y", "b": "z"}])
    assert found.columns == ["b", "a"]
    assert [[each.text for each in row.cells] for row in found.rows] == [["x", ""], ["z", "y"]]
    assert not found.rows[0].cells[1].placeholder, "a column that a row lacks is not null"


def test_a_difference_is_marked_in_both_rows() -> None:
    found = pairs_sample([Difference(BEFORE, AFTER)])
    assert found.columns == ("", "id", "amount", "note")
    assert [(row.heading, row.kind) for row in found.rows] == [("before", "old"), ("after", "new")]
    assert [[each.kind for each in row.cells] for row in found.rows] == [
        ["number", "was number", ""],
        ["number", "is number", ""],
    ]


def test_a_row_on_one_side_stands_alone_and_unmarked() -> None:
    found = pairs_sample([Difference(BEFORE, None), Difference(None, AFTER)])
    assert [(row.heading, row.kind) for row in found.rows] == [("before", "old"), ("after", "old")]
    assert {each.kind for row in found.rows for each in row.cells} == {"number", ""}


def test_a_known_record_is_compared_by_the_columns_it_names() -> None:
    found = pairs_sample([Difference({"amount": 12}, AFTER)], ("expected", "found"))
    assert [row.heading for row in found.rows] == ["expected", "found"]
    assert [each.kind for each in found.rows[1].cells] == ["number", "number", ""]


def test_a_result_shows_its_rows_then_its_pairs() -> None:
    result = Result("keys", CheckOutcome.FAILED, "none", "one", ({"id": 7},), (Difference(BEFORE, AFTER),))
    assert [len(each.rows) for each in samples_of(result)] == [1, 2]
    assert samples_of(Result("keys", CheckOutcome.PASSED, "none", "none")) == []
