"""Bills: each meter by its unit, alerts above the threshold, estimates from a rehearsal or from assumptions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.plan.rehearsal import MEASURED
from tests.unit.plan.world import World, hourly

from anabranch.contract.price_book import PriceBook, shipped_price_book
from anabranch.plan.forecast.cost import GIB, Metered, Stored, alert_words, bill, expected_usage, used
from anabranch.project.model import Surroundings

METERS = ("storageReads", "interZone", "objectRequests", "coreHours", "brokerEgress")


def book(**prices: float) -> PriceBook:
    """Nothing costs anything but these; alerts are given above 10."""
    meters = {
        name: {"price": prices.get(name, 0), "owner": "ada", "threshold": 10, "alert": "ask ada"} for name in METERS
    }
    document: dict[str, Any] = {
        "apiVersion": "anabranch/v1",
        "kind": "PriceBook",
        "metadata": {"name": "ours"},
        "spec": {
            "currency": "EUR",
            "dated": "2025-06-01",
            "assume": {"interZoneShare": "50%", "bytesPerCoreSecond": "1MiB"},
            "meters": meters,
        },
    }
    return PriceBook.model_validate(document, context=Surroundings(Path()))


METERED = Metered(broker_bytes=4 * GIB, storage_bytes=3 * GIB, requests=5000, core_seconds=7200)


@pytest.mark.parametrize(
    ("meter", "quantity"),
    [("storageReads", 3), ("interZone", 2), ("objectRequests", 5), ("coreHours", 2), ("brokerEgress", 4)],
)
def test_each_meter_is_priced_by_its_own_unit(meter: str, quantity: float) -> None:
    found = bill(book(**{meter: 2.0}), METERED)
    assert found.amount == pytest.approx(2.0 * quantity)
    assert found.currency == "EUR"
    assert found.book == "ours of 2025-06-01"
    assert {line.meter for line in found.lines} == set(METERS)


def test_a_meter_above_its_threshold_is_told_to_its_owner_and_no_other_is() -> None:
    found = bill(book(coreHours=6.0, brokerEgress=2.0), METERED)
    assert [line.meter for line in found.alerts] == ["coreHours"]
    (words,) = alert_words(found.alerts, found.currency)
    assert "12.00 EUR" in words
    assert "ada: ask ada" in words


def test_the_shipped_book_prices_every_meter_and_says_of_which_day_it_is() -> None:
    shipped = shipped_price_book()
    assert all(line.price > 0 and line.threshold > 0 for line in bill(shipped, METERED).lines)
    assert shipped.spec.dated in bill(shipped, METERED).book


def test_an_estimate_rests_on_the_rehearsal_where_there_is_one(world: World) -> None:
    planned = world.plan([hourly(60)])
    assume = book().spec.assume
    found = expected_usage(planned.plan, planned.estimates, MEASURED, Stored(2, 1000), assume, 8, None)
    assert found is not None
    assert found.broker_bytes == planned.estimates.offsets * 100
    seconds = sum(1.0 + slice_.width * 0.001 for slice_ in planned.plan.slices)
    validate = planned.plan.target.rows / 1e6 * 20
    assert found.core_seconds == pytest.approx((seconds + validate) * 2)
    assert found.storage_bytes == 2000


def test_without_a_rehearsal_the_book_assumes_and_with_no_size_there_is_no_estimate(world: World) -> None:
    planned = world.plan([hourly(60)])
    assume = book().spec.assume
    sized = replace(planned.estimates, bytes=10 << 20)
    found = expected_usage(planned.plan, sized, None, Stored(0, 0), assume, 8, None)
    assert found is not None
    assert found.core_seconds == pytest.approx(10)
    slow = expected_usage(planned.plan, sized, None, Stored(0, 0), assume, 8, 1 << 20)
    assert slow is not None
    assert slow.core_seconds == pytest.approx(80), "eight cores are paid for while the replay rests"
    unknown = replace(planned.estimates, bytes=None)
    assert expected_usage(planned.plan, unknown, None, Stored(0, 0), assume, 8, None) is None


def test_what_was_used_grows_with_every_validation() -> None:
    once, twice = (used(100, 5.0, 2, 3, Stored(4, 40), Stored(6, 60), n) for n in (1, 2))
    assert (once.storage_bytes, twice.storage_bytes) == (100, 200)
    assert twice.requests - once.requests == 10
    assert once.core_seconds == 10


def test_a_control_reads_and_computes_everything_once_more(world: World) -> None:
    planned, assume = world.plan([hourly(60)]), book().spec.assume
    twice = replace(planned.plan, control="c" * 64)
    once, both = (
        expected_usage(plan, planned.estimates, MEASURED, Stored(0, 0), assume, 8, None)
        for plan in (planned.plan, twice)
    )
    assert once is not None
    assert both is not None
    assert both.broker_bytes == 2 * once.broker_bytes
    validation = planned.plan.target.rows / 1e6 * 20 * 2
    assert both.core_seconds - validation == pytest.approx(2 * (once.core_seconds - validation))
