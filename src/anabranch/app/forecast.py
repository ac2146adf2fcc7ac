"""What lies ahead of a plan: how long it takes, by the last rehearsal, and what it costs. No JVM, no change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.app.cost import Estimate, estimate, last_rehearsal
from anabranch.app.project_context import ProjectContext
from anabranch.plan.forecast.estimates import PlanWarning
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.forecast.schedule import Forecast, forecast
from anabranch.plan.planner import Planned


@dataclass(frozen=True)
class BackfillForecast:
    window: Forecast | None
    """None: no rehearsal counts."""
    cost: Estimate | None
    """None: nobody knows how much is to be read."""
    budget: float | None

    @property
    def cautions(self) -> tuple[PlanWarning, ...]:
        found = () if self.window is None else self.window.cautions
        if self.cost is None or self.budget is None or self.cost.bill.amount <= self.budget:
            return found
        amount = f"{self.cost.bill.amount:,.2f} {self.cost.bill.currency}"
        return (*found, PlanWarning("over-budget", f"{amount} are estimated, and the budget is {self.budget:,.2f}"))

    def document(self) -> dict[str, Any]:
        return {
            "schedule": None if self.window is None else self.window.document(),
            "cost": None if self.cost is None else {**self.cost.document(), "budget": self.budget},
        }


def forecast_backfill(
    project_context: ProjectContext, planned: Planned, now: datetime, rehearsed: Rehearsed | None = None
) -> BackfillForecast:
    """By this rehearsal, or the last one of this contract that counts."""
    spec, pipeline = planned.request.backfill.spec, planned.request.pipeline
    found = rehearsed or last_rehearsal(project_context, planned, now)
    rate = None if spec.budget is None else spec.budget.bytes_per_second
    window = None if found is None else forecast(planned.plan, found, spec.schedule, pipeline.spec.live, rate, now)
    return BackfillForecast(
        window, estimate(project_context, planned, found), None if spec.budget is None else spec.budget.cost
    )
