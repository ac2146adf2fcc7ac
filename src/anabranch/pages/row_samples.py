"""Rows of any shape as cells of a table: samples of checks, and rows before and after with their differences marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from anabranch.validate.measures import Difference, Row
from anabranch.validate.result import Result


@dataclass(frozen=True)
class Cell:
    text: str
    kind: str = ""
    """Classes of the cell: `was` and `is` where a value differs, `number` where it is one."""
    placeholder: bool = False
    """Whether the text stands for a value that has none: null, or an empty string."""


@dataclass(frozen=True)
class SampleRow:
    cells: Sequence[Cell]
    heading: str | None = None
    kind: str = ""


@dataclass(frozen=True)
class RowSample:
    columns: Sequence[str]
    rows: Sequence[SampleRow]


def samples_of(result: Result) -> list[RowSample]:
    """The rows a check has found, then its pairs of rows."""
    found = [rows_sample(result.sample)] if result.sample else []
    return [*found, *([pairs_sample(result.pairs, result.sides)] if result.pairs else [])]


def rows_sample(rows: Sequence[Row]) -> RowSample:
    names = _names(rows)
    return RowSample(names, [SampleRow([_cell(row, name) for name in names]) for row in rows])


def pairs_sample(pairs: Sequence[Difference], sides: tuple[str, str] = ("before", "after")) -> RowSample:
    """Each row before above the same row after."""
    names = _names([row for pair in pairs for row in (pair.before, pair.after) if row is not None])
    rows = []
    for pair in pairs:
        old, new = pair.before, pair.after
        # A known record names some columns only; a column it does not name is not compared.
        differing = {n for n in names if old and new and n in old and old.get(n) != new.get(n)}
        if old is not None:
            cells = [_cell(old, name, "was" if name in differing else "") for name in names]
            rows.append(SampleRow(cells, sides[0], "old"))
        if new is not None:
            cells = [_cell(new, name, "is" if name in differing else "") for name in names]
            rows.append(SampleRow(cells, sides[1], "new" if old else "old"))
    return RowSample(("", *names), rows)


def _names(rows: Sequence[Row]) -> list[str]:
    """Every column that any of the rows has, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _cell(row: Row, name: str, kind: str = "") -> Cell:
    if name not in row:
        return Cell("", kind)
    value = row[name]
    if value is None or value == "":
        return Cell("null" if value is None else "empty", kind, placeholder=True)
    if isinstance(value, str):
        return Cell(value, kind)
    if isinstance(value, int) and not isinstance(value, bool):
        return Cell(f"{value:,}", f"{kind} number".strip())
    return Cell(json.dumps(value, ensure_ascii=False), kind)
