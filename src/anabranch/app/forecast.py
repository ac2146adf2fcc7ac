"""Forecasts a plan of a project: its schedule by the last rehearsal, and its cost. No JVM, no change."""

from __future__ import annotations

from datetime import datetime

from anabranch.app.cost import estimate, last_rehearsal
from anabranch.app.project_context import ProjectContext
from anabranch.plan.forecast.pricing import BackfillForecast
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.planner import Planned


def forecast_backfill(
    project_context: ProjectContext, planned: Planned, now: datetime, rehearsed: Rehearsed | None = None
) -> BackfillForecast:
    """By this rehearsal, or by the last valid one of this contract."""
    found = rehearsed or last_rehearsal(project_context, planned, now)
    return BackfillForecast.of(planned, found, estimate(project_context, planned, found), now)
