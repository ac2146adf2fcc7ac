"""Late events: reports the events that live dropped as late, separately from other differences."""

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
        # The replay dropped them too, so the rows agree; they are listed for information.
        return (
            Result(NAME, CheckOutcome.PASSED, "events that live and the replay dropped are listed", found, _rows(late)),
        )
    if late.undecided:
        found += f"; unknown for {counted(late.undecided, 'event')}, because live's commits have expired"
    return (
        Result(
            NAME,
            CheckOutcome.WARNED if late.count or late.undecided else CheckOutcome.PASSED,
            "events that live dropped and the replay includes are listed",
            found,
            _rows(late),
        ),
    )


def _rows(late: LateEvents) -> tuple[dict[str, Any], ...]:
    return tuple(event.row() for event in late.first)
