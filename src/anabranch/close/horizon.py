"""The rollback horizon: refuses to close a run whose contract still guarantees a rollback. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.contract.backfill import RollbackTerms
from anabranch.errors import AnabranchError, ExitCode
from anabranch.project.quantities import format_duration
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.states import State


class RollbackGuaranteedError(AnabranchError):
    code = "close.rollback-horizon"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class RollbackHorizon:
    """How long the contract guarantees that a promotion can be rolled back, counted from the last promotion."""

    promoted_at: datetime
    length: timedelta

    @property
    def ends_at(self) -> datetime:
        return self.promoted_at + self.length

    def is_open(self, now: datetime) -> bool:
        return now < self.ends_at

    def document(self) -> dict[str, Any]:
        return {
            "horizon": format_duration(self.length),
            "promoted_at": self.promoted_at.isoformat(),
            "ends_at": self.ends_at.isoformat(),
        }


def horizon_length(contract: Mapping[str, Any]) -> timedelta:
    """`rollback.horizon` of the contract as it was submitted, or the default of a contract that has none.

    Only this part is read: a deleted check file must not prevent closing.
    """
    return RollbackTerms.model_validate(contract["spec"]["rollback"]).horizon


def rollback_horizon(state: State, journal: Iterable[JournalEntry], length: timedelta) -> RollbackHorizon | None:
    """The horizon of the run's last promotion. None if the run is not promoted: there is nothing to roll back then."""
    if state is not State.PROMOTED:
        return None
    promoted = [
        each.settled_at
        for each in journal
        if each.step == "promote" and each.outcome is Outcome.SUCCEEDED and each.settled_at is not None
    ]
    return RollbackHorizon(max(promoted), length)


def require_rollback_given_up(
    run_id: str, horizon: RollbackHorizon | None, now: datetime, *, forfeit: str | None
) -> dict[str, Any] | None:
    """The horizon's entry of the closure record. Raises RollbackGuaranteedError if it is open and not forfeited.

    `forfeit` is the reason given for forfeiting. It is ignored after the horizon, when there is nothing to forfeit.
    """
    if horizon is None:
        return None
    is_open = horizon.is_open(now)
    if is_open and forfeit is None:
        ends = horizon.ends_at
        raise RollbackGuaranteedError(
            f"Run {run_id} was promoted at {horizon.promoted_at:%Y-%m-%d %H:%M:%S} UTC; its contract guarantees "
            f"rollback for {format_duration(horizon.length)}, until {ends:%Y-%m-%d %H:%M:%S} UTC.",
            state="Run still promoted; rollback is possible. Staging and tags unchanged.",
            hint="Close the run after that time, or forfeit the rollback",
            command=f'anabranch close {run_id} --forfeit-rollback --reason "…"',
            **horizon.document(),
        )
    return {**horizon.document(), "forfeited": forfeit if is_open else None}
