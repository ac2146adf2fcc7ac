"""The journal: what was going to be done, written before doing it, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


class Outcome(str, Enum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The answer was lost. Still open: the effect has to be looked up by the intent's id, never tried again blindly."""


@dataclass(frozen=True)
class JournalEntry:
    """One act. `id` is also what the act leaves at the resource (a snapshot property, say), to be looked up by."""

    id: str
    run_id: str
    epoch: int
    step: str
    details: Mapping[str, object]
    intended_at: datetime
    outcome: Outcome | None = None
    outcome_details: Mapping[str, object] | None = None
    settled_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether recovery has to look the effect up."""
        return self.outcome in (None, Outcome.UNKNOWN)


def intent_id(run_id: str, epoch: int, step: str) -> str:
    """The id of an intent that brings none of its own: the same step in the same epoch is the same intent.

    A step that is done several times (promote, roll back, promote) carries its number in its name.
    """
    return f"{run_id}/e{epoch}/{step}"


class IntentConflictError(AnabranchError):
    """An id names one act; a second act under it, or a second, different end of it, is a fault."""

    code = "journal.conflict"
    exit_code = ExitCode.CONFLICT

    def __init__(self, entry: JournalEntry, attempted: str) -> None:
        had = entry.outcome.value if entry.outcome else "open"
        super().__init__(
            f"The journal already has {entry.id!r} ({entry.step}, {had}), which {attempted} would contradict.",
            state=NOTHING_CHANGED,
            command=f"anabranch log {entry.run_id}",
            run=entry.run_id,
            intent=entry.id,
            outcome=had,
        )


class IntentUnknownError(AnabranchError):
    code = "journal.unknown"

    def __init__(self, intent: str) -> None:
        super().__init__(
            f"The journal has no intent {intent!r}, so no outcome can be recorded for it.",
            state=NOTHING_CHANGED,
            command="anabranch log RUN",
            intent=intent,
        )
