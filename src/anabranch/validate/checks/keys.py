"""Keys: no two staged rows have the same."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted


def check(evidence: CheckInput) -> Sequence[Result]:
    duplicates = evidence.measures.duplicates
    if duplicates is None:
        return ()
    keys = ", ".join(duplicates.keys)
    expected = f"every row has its own {keys}"
    if duplicates.unknown:
        found = f"the table has no column {', '.join(duplicates.unknown)}"
        return (Result("keys", CheckOutcome.FAILED, expected, found),)
    if not duplicates.count:
        return (Result("keys", CheckOutcome.PASSED, expected, "so it is"),)
    found = f"{counted(duplicates.count, 'key is', 'keys are')} there more than once"
    return (Result("keys", CheckOutcome.FAILED, expected, found, duplicates.sample),)
