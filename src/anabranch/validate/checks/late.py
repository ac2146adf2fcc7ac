"""Late events: what live dropped and the replay has is told by itself, and not left to be found in the differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.plan.strategies.strategy import Strategy
from anabranch.replay.late import LateEvents
from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted

NAME = "late events"


def check(evidence: CheckInput) -> Sequence[Result]:
    if evidence.pipeline.spec.window is None:
        return ()
    late = sum((account.late for account in evidence.accounts), LateEvents())
    found = f"{counted(late.count, 'event')} that live dropped as late" if late.count else "none"
    if evidence.plan.strategy is Strategy.STREAM:
        # The replay has dropped them too: the rows agree, and yet somebody may want to have them.
        return (
            Result(NAME, CheckOutcome.PASSED, "what live dropped and so did the replay, by name", found, _rows(late)),
        )
    if late.untold:
        found += f"; of {counted(late.untold, 'event')} nobody can tell, since live's commits have expired"
    return (
        Result(
            NAME,
            CheckOutcome.WARNED if late.count or late.untold else CheckOutcome.PASSED,
            "what live dropped and the replay takes in, by name",
            found,
            _rows(late),
        ),
    )


def _rows(late: LateEvents) -> tuple[dict[str, Any], ...]:
    return tuple(event.row() for event in late.first)
