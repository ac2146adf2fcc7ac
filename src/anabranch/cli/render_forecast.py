"""Duration and cost of a plan as facts for a table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from anabranch.project.quantities import format_duration, format_moment

if TYPE_CHECKING:
    from anabranch.plan.forecast.pricing import BackfillForecast
    from anabranch.plan.forecast.schedule import Forecast


def forecast_facts(forecast: BackfillForecast) -> Iterator[tuple[str, str]]:
    if forecast.window is None:
        yield "duration", "unknown until a rehearsal: anabranch rehearse -f CONTRACT"
    else:
        yield from duration_facts(forecast.window)
    if forecast.cost is None:
        yield "cost", "unknown: the broker does not report the size of the topic"
        return
    bill, budget = forecast.cost.bill, forecast.budget
    limit = "no budget in the contract" if budget is None else f"budget {budget:,.2f}"
    yield "cost", f"about {bill.amount:,.4f} {bill.currency} by {forecast.cost.rests_on}; {limit}"
    for line in bill.alerts:
        yield "alert", f"{line.meter}: {line.amount:,.2f} {bill.currency}; {line.owner}: {line.alert}"


def duration_facts(window: Forecast) -> Iterator[tuple[str, str]]:
    parts = (
        ("replay", window.replay),
        ("validation", window.validate),
        ("catch-up", window.catch_up),
        ("promotion", window.promote),
    )
    yield "duration", f"{_roughly(window.total)}: " + ", ".join(f"{name} {_roughly(each)}" for name, each in parts)
    yield "rollback", _roughly(window.rollback)
    deadline = "" if window.deadline is None else f"; the deadline is {format_moment(window.deadline)}"
    yield "ends", f"about {window.finish:%Y-%m-%d %H:%M} UTC{deadline}"
    if window.multiple is not None:
        yield "speed", f"{window.multiple:,.1f} times real time"
    if window.headroom is not None:
        yield "headroom", f"reads {window.headroom:,.1f} times as fast as records arrive"


def _roughly(duration: timedelta) -> str:
    """To the second; at least one second for any duration above zero."""
    return format_duration(timedelta(seconds=max(1, round(duration.total_seconds())))) if duration else "0 s"
