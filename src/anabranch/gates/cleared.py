"""A plan that no gate blocks. A replay accepts no other input."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.gates.scorecard import Scorecard
from anabranch.plan.plan import Plan


@dataclass(frozen=True)
class ClearedPlan:
    """Made only by `GateService.clear_for_replay`. Raises ValueError for a closed card or the card of another plan."""

    plan: Plan
    scorecard: Scorecard

    def __post_init__(self) -> None:
        if self.scorecard.plan != self.plan.hash:
            raise ValueError(f"the scorecard is of plan {self.scorecard.plan}, not of {self.plan.hash}")
        if self.scorecard.closed:
            raise ValueError(f"gates block this plan: {', '.join(each.gate for each in self.scorecard.closed)}")
