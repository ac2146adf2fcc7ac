"""`anabranch pause --all`: no replay of the context begins a slice, also of runs that start later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from anabranch.project.quantities import format_moment
from anabranch.replay.allowance import UNLIMITED, Allowance
from anabranch.replay.polled_source import PolledSource

ASK_SECONDS, PATIENCE_SECONDS = 1.0, 15.0
PAUSED_ALL, RESUMED_ALL = "pause.all", "pause.all-lifted"
"""The actions under which they are recorded."""


@dataclass(frozen=True)
class AllPaused:
    """Since when, by whom and why all replays of a context are paused."""

    actor: str
    reason: str
    at: datetime

    def words(self) -> str:
        return f"all replays paused by {self.actor} since {format_moment(self.at)}: {self.reason}"

    def document(self) -> dict[str, str]:
        return {"by": self.actor, "since": format_moment(self.at), "reason": self.reason}


class PauseSwitch(Protocol):
    """One switch for each context, in the control database."""

    def read(self, context: str) -> AllPaused | None:
        """None: not paused."""

    def pause(self, context: str, *, actor: str, reason: str) -> None:
        """Pause all, on record. A later pause replaces who and why."""

    def resume(self, context: str, *, actor: str, reason: str) -> bool:
        """Lift the pause, on record. Whether there was one."""


def pause_all_source(switch: PauseSwitch, context: str) -> PolledSource:
    def ask() -> Allowance:
        paused = switch.read(context)
        return UNLIMITED if paused is None else Allowance("pause", paused.words(), paused=True)

    return PolledSource("pause", ask, every=ASK_SECONDS, patience=PATIENCE_SECONDS)
