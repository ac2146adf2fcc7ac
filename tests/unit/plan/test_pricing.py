"""What a run is charged for, on how many cores, and when an estimate is over budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from tests.unit.plan.test_cost import METERED, book
from tests.unit.plan.world import World, hourly

from anabranch.plan.forecast.cost import GIB, Stored, bill
from anabranch.plan.forecast.pricing import (
    ASSUMED,
    BackfillForecast,
    Estimate,
    cores_of,
    paid_seconds,
    price_plan,
    price_run,
)
from anabranch.project.sections.spark import SparkSettings
from anabranch.runs.journal import JournalEntry, Outcome

BEGUN = datetime(2025, 7, 1, tzinfo=timezone.utc)
NONE = Stored(0, 0)


def entry(step: str, seconds: float | None, outcome: Outcome | None = Outcome.SUCCEEDED) -> JournalEntry:
    settled = None if seconds is None else BEGUN + timedelta(seconds=seconds)
    return JournalEntry(f"{step}-{seconds}", "run", 1, step, {}, BEGUN, outcome, None, settled)


def test_failed_attempts_are_paid_for_and_open_ones_are_not_yet() -> None:
    journal = [
        entry("slice", 10),
        entry("control", 20, Outcome.FAILED),
        entry("validate", 5),
        entry("promote", 100),
        entry("slice", None, None),
    ]
    assert paid_seconds(journal) == 35


def test_a_run_is_priced_by_its_bytes_and_its_cores() -> None:
    found = price_run(book(brokerEgress=2.0, coreHours=3.0), [entry("slice", 3600)], GIB, 4, NONE, NONE)
    assert found.amount == pytest.approx(2.0 + 3.0 * 4)


def test_without_a_rehearsal_an_estimate_rests_on_the_price_book(world: World) -> None:
    planned = world.plan([hourly(60)])
    known = replace(planned, estimates=replace(planned.estimates, bytes=GIB))
    found = price_plan(book(), known, None, NONE, 1)
    assert found is not None
    assert found.rests_on == ASSUMED
    assert found.evidence()["rests_on"] == ASSUMED
    assert price_plan(book(), replace(planned, estimates=replace(planned.estimates, bytes=None)), None, NONE, 1) is None


@pytest.mark.parametrize(("budget", "codes"), [(None, []), (9.0, []), (8.0, []), (7.99, ["over-budget"])])
def test_an_estimate_over_budget_is_a_warning(budget: float | None, codes: list[str]) -> None:
    cost = Estimate(bill(book(brokerEgress=2.0), METERED), ASSUMED)
    assert cost.bill.amount == 8.0
    assert [each.code for each in BackfillForecast(None, cost, budget).cautions] == codes


@pytest.mark.parametrize(
    ("master", "options", "cores"),
    [
        ("local[*,4]", {}, 16),
        ("local[3,4]", {}, 3),
        ("spark://host:7077", {"spark.executor.instances": "5", "spark.executor.cores": "2"}, 10),
        ("spark://host:7077", {}, 1),
    ],
)
def test_cores_are_those_that_the_settings_name(master: str, options: dict[str, str], cores: int) -> None:
    assert cores_of(SparkSettings.model_construct(master=master, options=options), 16) == cores
