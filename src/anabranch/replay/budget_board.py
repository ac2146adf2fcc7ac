"""The port to the replay budget in the control database: one row for each run that replays or waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.replay.budget_shares import Member, Place, ReplayBudget, place_of

HEARTBEAT_EXPIRES = timedelta(seconds=20)
"""After this long without a heartbeat, by the database's time, a run's slot and share go to the others."""
PRIORITY_SET = "queue.priority"
"""The action under which a change of a run's priority is recorded."""


class NotQueuedError(AnabranchError):
    code = "queue.unknown-run"
    exit_code = ExitCode.CONFLICT

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id} neither waits for the replay budget nor replays within it.",
            state=NOTHING_CHANGED,
            command="anabranch queue",
            run=run_id,
        )


@dataclass(frozen=True)
class Heartbeat:
    """What one process says about its run, about once a second."""

    run: str
    epoch: int
    context: str
    budget: ReplayBudget
    """As this process has it configured. Where processes differ, the lowest counts."""
    deadline: datetime | None = None
    cap: int | None = None
    wants: bool = True
    exempt: bool = False
    held: int = 0
    joined: datetime | None = None
    """When it joined; None for the first heartbeat. A run whose heartbeat had expired keeps its age."""


@dataclass(frozen=True)
class BudgetView:
    """The budget of one context at one moment of the database's time."""

    at: datetime
    budget: ReplayBudget
    members: tuple[Member, ...]

    def member(self, run: str) -> Member | None:
        return next((each for each in self.members if each.run == run), None)

    def place(self, run: str) -> Place | None:
        return place_of(run, self.members, self.budget, self.at)


class BudgetBoard(Protocol):
    def beat(self, heartbeat: Heartbeat) -> BudgetView:
        """Join or stay, acknowledge `held`, and divide again among all whose heartbeat has not expired.

        One transaction. Raises SupersededError under another epoch than the run's lease has.
        """

    def leave(self, run_id: str, epoch: int) -> None:
        """Give slot, share or place back. Idempotent; does nothing under a superseded epoch."""

    def view(self, context: str, configured: ReplayBudget) -> BudgetView:
        """The budget as it is, without those whose heartbeat has expired. Nothing is changed."""

    def set_priority(self, run_id: str, priority: int, *, actor: str) -> None:
        """Change a run's priority, on record. Raises NotQueuedError."""
