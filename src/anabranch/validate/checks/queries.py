"""The user's SQL: a query that returns no rows has passed."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted


def check(evidence: CheckInput) -> Sequence[Result]:
    results = []
    for query in evidence.measures.queries:
        name = f"query {query.name}"
        if query.error is not None:
            results.append(Result(name, CheckOutcome.FAILED, "no rows", query.error))
        elif query.sample:
            found = f"{'more than ' if query.more else ''}{counted(len(query.sample), 'row')}"
            results.append(Result(name, CheckOutcome.FAILED, "no rows", found, query.sample))
        else:
            results.append(Result(name, CheckOutcome.PASSED, "no rows", "no rows"))
    return tuple(results)
