"""Decides whether closing a run would end a rollback that its contract still guarantees. Pure."""

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

    Only this part is read, so that a check file which is gone by now can't keep a run from being closed.
    """
    return RollbackTerms.model_validate(contract["spec"]["rollback"]).horizon


def rollback_horizon(state: State, journal: Iterable[JournalEntry], length: timedelta) -> RollbackHorizon | None:
    """The horizon of the promotion that production has. None if closing gives up no rollback.

    A run that was never promoted, or that was rolled back, has put nothing into production that could be rolled back.
    """
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
    """What the closure record says of the horizon. Raises RollbackGuaranteedError if it is open and nobody forfeits it.

    `forfeit` is the reason of the person who forfeits. It counts only while the horizon is open: afterwards there is
    nothing to forfeit, and the record names nobody.
    """
    if horizon is None:
        return None
    is_open = horizon.is_open(now)
    if is_open and forfeit is None:
        ends = horizon.ends_at
        raise RollbackGuaranteedError(
            f"Run {run_id} was promoted at {horizon.promoted_at:%Y-%m-%d %H:%M:%S} UTC, and its contract guarantees a "
            f"rollback for {format_duration(horizon.length)}: until {ends:%Y-%m-%d %H:%M:%S} UTC.",
            state="The run is still promoted and can be rolled back; staging and tags are in place.",
            hint=f'close it after that time, or now: anabranch close {run_id} --forfeit-rollback --reason "…"',
            **horizon.document(),
        )
    return {**horizon.document(), "forfeited": forfeit if is_open else None}
