"""Keys: no two staged rows have the same key."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted


def check(evidence: CheckInput) -> Sequence[Result]:
    duplicates = evidence.measures.duplicates
    if duplicates is None:
        return ()
    keys = ", ".join(duplicates.keys)
    expected = f"unique {keys} in every row"
    if duplicates.unknown:
        found = f"the table has no column {', '.join(duplicates.unknown)}"
        return (Result("keys", CheckOutcome.FAILED, expected, found),)
    if not duplicates.count:
        return (Result("keys", CheckOutcome.PASSED, expected, "no duplicates"),)
    found = f"{counted(duplicates.count, 'duplicate key')}"
    return (Result("keys", CheckOutcome.FAILED, expected, found, duplicates.sample),)
