"""Window and cost of a plan in words, for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from anabranch.project.quantities import format_duration, format_moment

if TYPE_CHECKING:
    from anabranch.plan.forecast.pricing import BackfillForecast
    from anabranch.plan.forecast.schedule import Forecast


def prospect_words(prospect: BackfillForecast) -> Iterator[tuple[str, str]]:
    if prospect.window is None:
        yield "takes", "unknown until it is rehearsed: anabranch rehearse -f CONTRACT"
    else:
        yield from window_words(prospect.window)
    if prospect.cost is None:
        yield "costs", "unknown: the cluster does not say how much is to be read"
        return
    bill, budget = prospect.cost.bill, prospect.budget
    limit = "no budget in the contract" if budget is None else f"budget {budget:,.2f}"
    yield "costs", f"about {bill.amount:,.4f} {bill.currency} by {prospect.cost.rests_on}; {limit}"
    for line in bill.alerts:
        yield "alert", f"{line.meter}: {line.amount:,.2f} {bill.currency}; {line.owner}: {line.alert}"


def window_words(window: Forecast) -> Iterator[tuple[str, str]]:
    parts = (
        ("replay", window.replay),
        ("validation", window.validate),
        ("catching up", window.catch_up),
        ("promotion", window.promote),
    )
    yield "takes", f"{_roughly(window.total)}: " + ", ".join(f"{name} {_roughly(each)}" for name, each in parts)
    yield "way back", _roughly(window.rollback)
    deadline = "" if window.deadline is None else f"; the deadline is {format_moment(window.deadline)}"
    yield "ends", f"about {window.finish:%Y-%m-%d %H:%M} UTC{deadline}"
    if window.multiple is not None:
        yield "speed", f"{window.multiple:,.1f} times real time"
    if window.headroom is not None:
        yield "headroom", f"reads {window.headroom:,.1f} times as fast as records come in"


def _roughly(duration: timedelta) -> str:
    """To the second; a part that takes less is still something."""
    return format_duration(timedelta(seconds=max(1, round(duration.total_seconds())))) if duration else "nothing"
