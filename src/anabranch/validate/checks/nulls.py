"""Nulls: the columns that the contract or the table requires have no nulls."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.result import CheckInput, Result, counted, passed_if


def check(evidence: CheckInput) -> Sequence[Result]:
    nulls = evidence.measures.nulls
    if not nulls.counts and not nulls.unknown:
        return ()
    missing = {column: count for column, count in nulls.counts.items() if count}
    found = [f"{counted(count, 'row')} with null {column}" for column, count in missing.items()]
    found += [f"the table has no column {column}" for column in nulls.unknown]
    return (
        Result(
            "nulls",
            passed_if(not found),
            f"no null in {', '.join((*nulls.counts, *nulls.unknown))}",
            "; ".join(found) or "no nulls",
            nulls.sample,
        ),
    )
