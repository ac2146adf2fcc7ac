"""Outside the range staging has the same files as the base, so no row there was added, changed or lost."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.result import CheckInput, Result, counted, passed_if


def check(evidence: CheckInput) -> Sequence[Result]:
    if evidence.plan.strategy.whole_table:
        return ()  # the range is the whole table
    strays = evidence.measures.strays
    return (
        Result(
            "outside the range",
            passed_if(not strays.count),
            "the same files as the base",
            f"{counted(strays.count, 'file')} added or removed" if strays.count else "the same files",
            tuple(
                {"file": each.path, "what": "added" if each.added else "removed", "rows": each.rows}
                for each in strays.sample
            ),
        ),
    )
