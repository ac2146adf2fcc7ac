"""Holds a replay outside the hours of its contract: the slice in flight is finished, none begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from anabranch.contract.backfill import Hours
from anabranch.plan.forecast.hours import hours_words, next_opening
from anabranch.project.quantities import format_moment
from anabranch.replay.allowance import UNLIMITED, Allowance


@dataclass(frozen=True)
class HoursSource:
    """A RateSource."""

    hours: Hours
    clock: Callable[[], datetime]

    def allowance(self) -> Allowance:
        now = self.clock()
        opens = next_opening(self.hours, now)
        if opens == now:
            return UNLIMITED
        words = f"outside the contract's hours ({hours_words(self.hours)}); continues at {format_moment(opens)}"
        return Allowance("schedule", words, paused=True)
