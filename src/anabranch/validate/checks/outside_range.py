"""Range: outside of it, staging is the base, file by file, so no row there was added, changed or lost."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.validate.result import CheckInput, Result, counted, passed_if


def check(evidence: CheckInput) -> Sequence[Result]:
    if evidence.plan.strategy.whole_table:
        return ()  # there is no outside
    strays = evidence.measures.strays
    return (
        Result(
            "outside the range",
            passed_if(not strays.count),
            "the same files as the base",
            f"{counted(strays.count, 'file')} added or taken away" if strays.count else "the same files",
            tuple(
                {"file": each.path, "what": "added" if each.added else "taken away", "rows": each.rows}
                for each in strays.sample
            ),
        ),
    )
