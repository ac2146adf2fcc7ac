"""Prices a plan before it runs and a run after it has, and warns of an estimate over budget. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.contract.price_book import PriceBook
from anabranch.plan.forecast.cost import Bill, Stored, bill, expected_usage, used
from anabranch.plan.forecast.estimates import PlanWarning
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.forecast.schedule import Forecast, forecast
from anabranch.plan.planner import Planned
from anabranch.project.sections.spark import SparkSettings
from anabranch.runs.journal import JournalEntry, Outcome

REHEARSED = "a rehearsal"
"""What an estimate rests on whose quantities were measured."""
ASSUMED = "assumptions of the price book"
READS = ("slice", "control")
"""Steps that read from Kafka: a control reads everything a second time."""


@dataclass(frozen=True)
class Estimate:
    bill: Bill
    rests_on: str
    """`REHEARSED` or `ASSUMED`."""

    def document(self) -> dict[str, Any]:
        return {**self.bill.document(), "rests_on": self.rests_on}

    def evidence(self) -> dict[str, Any]:
        """As the cost gate and the closure record read it."""
        return {
            "amount": round(self.bill.amount, 6),
            "currency": self.bill.currency,
            "prices": self.bill.book,
            "rests_on": self.rests_on,
            "meters": {line.meter: round(line.amount, 6) for line in self.bill.lines},
        }


@dataclass(frozen=True)
class BackfillForecast:
    window: Forecast | None
    """None: no rehearsal is valid."""
    cost: Estimate | None
    """None: the number of bytes to read is unknown."""
    budget: float | None

    @classmethod
    def of(
        cls, planned: Planned, rehearsed: Rehearsed | None, cost: Estimate | None, now: datetime
    ) -> BackfillForecast:
        """The schedule is forecast only from measured rates."""
        if rehearsed is None:
            return cls(None, cost, planned.request.backfill.spec.cost_limit)
        spec, live = planned.request.backfill.spec, planned.request.pipeline.spec.live
        window = forecast(planned.plan, rehearsed, spec.schedule, live, spec.byte_rate, now)
        return cls(window, cost, spec.cost_limit)

    @property
    def cautions(self) -> tuple[PlanWarning, ...]:
        found = () if self.window is None else self.window.cautions
        if self.cost is None or self.budget is None or self.cost.bill.amount <= self.budget:
            return found
        amount = f"{self.cost.bill.amount:,.2f} {self.cost.bill.currency}"
        return (*found, PlanWarning("over-budget", f"estimated cost {amount} exceeds the budget of {self.budget:,.2f}"))

    def document(self) -> dict[str, Any]:
        return {
            "schedule": None if self.window is None else self.window.document(),
            "cost": None if self.cost is None else {**self.cost.document(), "budget": self.budget},
        }


def price_plan(
    book: PriceBook, planned: Planned, rehearsed: Rehearsed | None, stored: Stored, cores: int
) -> Estimate | None:
    """What the plan will cost; None: neither the cluster nor a rehearsal gives the number of bytes to read."""
    rate = planned.request.backfill.spec.byte_rate
    usage = expected_usage(planned.plan, planned.estimates, rehearsed, stored, book.spec.assume, cores, rate)
    if usage is None:
        return None
    return Estimate(bill(book, usage), REHEARSED if rehearsed else ASSUMED)


def price_run(
    book: PriceBook, journal: Sequence[JournalEntry], bytes_read: int, cores: int, staged: Stored, base: Stored
) -> Bill:
    """What a run has cost so far."""
    done = [each for each in journal if each.outcome is Outcome.SUCCEEDED]
    usage = used(
        bytes_read,
        paid_seconds(journal),
        cores,
        commits=sum(each.step in (*READS, "promote", "rollback") for each in done),
        staged=staged,
        base=base,
        validations=sum(each.step == "validate" for each in done),
    )
    return bill(book, usage)


def paid_seconds(journal: Sequence[JournalEntry]) -> float:
    """Of reading slices and of validating, failed attempts too: their cores were paid for."""
    return sum(
        (each.settled_at - each.intended_at).total_seconds()
        for each in journal
        if each.step in (*READS, "validate") and each.settled_at is not None
    )


def cores_of(settings: SparkSettings, cpus: int) -> int:
    """The cores that the settings name; `local[*]` has all `cpus`; a cluster that decides by itself counts as one."""
    local = re.fullmatch(r"local\[(\*|[0-9]+),[0-9]+\]", settings.master)
    if local is not None:
        return cpus if local[1] == "*" else int(local[1])
    named = [settings.options.get(f"spark.executor.{name}", "1") for name in ("instances", "cores")]
    instances, cores = (int(each) if isinstance(each, str) and each.isdecimal() else 1 for each in named)
    return instances * cores
