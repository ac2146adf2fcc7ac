"""Late events: what live dropped and the replay has is told by itself, and not left to be found in the differences."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.replay.late import LateEvents
from anabranch.validate.result import Evidence, Outcome, Result, counted


def check(evidence: Evidence) -> Sequence[Result]:
    if evidence.pipeline.spec.window is None:
        return ()
    late = sum((account.late for account in evidence.accounts), LateEvents())
    found = f"{counted(late.count, 'event')} that live dropped as late" if late.count else "none"
    if late.untold:
        found += f"; of {counted(late.untold, 'event')} nobody can tell, since live's commits have expired"
    return (
        Result(
            "late events",
            Outcome.WARNED if late.count or late.untold else Outcome.PASSED,
            "what live dropped and the replay takes in, by name",
            found,
            tuple(event.row() for event in late.first),
        ),
    )
