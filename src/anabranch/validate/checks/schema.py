"""Schema: staging has the target's columns in the same order, and these have not changed since the plan."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from anabranch.validate.measures import Column, Row
from anabranch.validate.result import CheckInput, Result, counted, passed_if


def check(evidence: CheckInput) -> Sequence[Result]:
    return (_staged(evidence), _since_plan(evidence))


def _staged(evidence: CheckInput) -> Result:
    measures = evidence.measures
    expected = counted(len(measures.base.columns), "column")
    return _compared("columns", f"{expected} as in the base", measures.base.columns, measures.staged.columns, "staged")


def _since_plan(evidence: CheckInput) -> Result:
    measures, pinned = evidence.measures, evidence.plan.target.schema
    same = measures.schema == pinned
    return Result(
        "schema since the plan",
        passed_if(same),
        f"digest {pinned[:12]}",
        "unchanged" if same else f"digest {measures.schema[:12]}: the target's columns have changed",
        () if same else _differing(measures.base.columns, measures.head, "now"),
    )


def _compared(name: str, expected: str, base: Sequence[Column], other: Sequence[Column], side: str) -> Result:
    differing = _differing(base, other, side)
    found = f"{counted(len(differing), 'position differs', 'positions differ')}" if differing else "the same"
    return Result(name, passed_if(not differing), expected, found, differing)


def _differing(base: Sequence[Column], other: Sequence[Column], side: str) -> tuple[Row, ...]:
    return tuple(
        {"position": position, "base": _text(before), side: _text(after)}
        for position, (before, after) in enumerate(zip_longest(base, other), start=1)
        if before != after
    )


def _text(column: Column | None) -> str | None:
    return None if column is None else str(column)
