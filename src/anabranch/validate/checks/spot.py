"""Spot checks: records known to be correct are among the staged rows."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.measures import SAMPLE
from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted, passed_if


def check(evidence: CheckInput) -> Sequence[Result]:
    spots = evidence.measures.spots
    if spots is None:
        return ()
    expected = f"every record of {spots.file}"
    if not spots.expected and not spots.problems:
        return (Result("known records", CheckOutcome.WARNED, expected, "the file has no records"),)
    found = [f"{spots.expected - spots.missed:,} of {counted(spots.expected, 'record')} found"]
    if spots.problems:
        found.append(f"{counted(len(spots.problems), 'line')} could not be checked")
    return (
        Result(
            "known records",
            passed_if(not spots.missed and not spots.problems),
            expected,
            "; ".join(found),
            tuple({"problem": problem} for problem in spots.problems[:SAMPLE]),
            spots.missing,
            ("known", "staged"),
        ),
    )
