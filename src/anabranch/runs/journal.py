"""The journal: the intent of every act, written before it, and its outcome."""

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
    """No answer was received. Still open: look the effect up by the intent's id before retrying."""


@dataclass(frozen=True)
class JournalEntry:
    """One act. The act also writes `id` to the resource (as a snapshot property), so that its effect can be found."""

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
        """Whether recovery has to look up the effect."""
        return self.outcome in (None, Outcome.UNKNOWN)


def intent_id(run_id: str, epoch: int, step: str) -> str:
    """The default id of an intent: the same step in the same epoch is the same intent.

    A step that can be repeated (promote, roll back, promote) has its number in its name.
    """
    return f"{run_id}/e{epoch}/{step}"


class IntentConflictError(AnabranchError):
    """The id already names another act, or this act with another outcome."""

    code = "journal.conflict"
    exit_code = ExitCode.CONFLICT

    def __init__(self, entry: JournalEntry, attempted: str) -> None:
        recorded = entry.outcome.value if entry.outcome else "open"
        super().__init__(
            f"Journal conflict: intent {entry.id!r} is recorded as {entry.step} ({recorded}); refused: {attempted}.",
            state=NOTHING_CHANGED,
            command=f"anabranch log {entry.run_id}",
            run=entry.run_id,
            intent=entry.id,
            outcome=recorded,
        )


class IntentUnknownError(AnabranchError):
    code = "journal.unknown"

    def __init__(self, intent: str) -> None:
        super().__init__(
            f"The journal has no intent {intent!r}; its outcome was not recorded.",
            state=NOTHING_CHANGED,
            hint="`anabranch log RUN` lists the intents of a run",
            intent=intent,
        )
