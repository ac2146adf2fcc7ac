"""Which way is advised for which damage, and what each way is said to take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from anabranch.readiness.advice import Advice, Option, Way, advise
from anabranch.readiness.incident import Archive, Incident, LiveCode, Money, Rates, Usage
from anabranch.readiness.readers import Readers, TopicReader

HOUR = timedelta(hours=1)
READERS = Readers("shop.orders", (TopicReader("billing", 1, 7, live=False),), "shop.orders", ())
RATES = Rates(1000.0, 10.0, 2.0)
GONE = "shop.orders has lost offsets 0 to 99 of partition 0."
LAKE = Archive("lake.raw_orders", 50_000, 10**9)


def damage(**changes: Any) -> Incident:
    facts: dict[str, Any] = {
        "pipeline": "orders",
        "pipeline_class": "stateless",
        "table": "shop.orders",
        "rows": 100_000,
        "affected": None,
        "tolerable": 0.0,
        "obstacle": None,
        "records": 120_000,
        "bytes": 24_000_000,
        "bytes_per_second": None,
        "headroom": None,
        "archive": None,
        "live": LiveCode.FIXED,
        "readers": READERS,
        "rates": None,
    }
    if changes.get("obstacle"):
        facts |= {"records": None, "bytes": None}
    return Incident(**{**facts, **changes})


def option(advice: Advice, way: Way) -> Option:
    return next(each for each in advice.options if each.way is way)


few = {"pipeline_class": "upsert", "affected": 40}


@pytest.mark.parametrize(
    ("changes", "way"),
    [
        ({}, Way.BACKFILL),
        ({"affected": 40}, Way.BACKFILL),  # an event more would only add rows
        (few, Way.COMPENSATE),
        ({**few, "affected": 1001, "records": 10**6}, Way.BACKFILL),  # more than anybody writes by hand
        ({**few, "records": 3999}, Way.BACKFILL),  # a replay of so little is as quick
        ({**few, "live": LiveCode.NOT_RESTARTED}, Way.BACKFILL),
        ({**few, "live": LiveCode.UNKNOWN}, Way.BACKFILL),
        ({**few, "pipeline_class": "ordered"}, Way.BACKFILL),
        ({"affected": 0}, Way.ACCEPT),
        ({"affected": 99, "tolerable": 0.001}, Way.ACCEPT),
        ({"affected": 101, "tolerable": 0.001}, Way.BACKFILL),
        ({"affected": 5, "rows": 0}, Way.BACKFILL),  # rows that are missing are wrong as well
        ({"tolerable": 0.5}, Way.BACKFILL),  # nobody has said that so few are wrong
        ({"archive": LAKE}, Way.BACKFILL),
        ({"archive": LAKE, "obstacle": GONE}, Way.REFRESH),
        ({"archive": LAKE, "rates": RATES, "headroom": timedelta(seconds=200)}, Way.REFRESH),
        ({"archive": LAKE, "rates": RATES, "headroom": HOUR}, Way.BACKFILL),
        ({"rates": RATES, "headroom": timedelta(seconds=200)}, Way.BACKFILL),
        ({"archive": LAKE, "headroom": timedelta(seconds=-1)}, Way.REFRESH),
        ({"obstacle": GONE, "affected": 40}, Way.COMPENSATE),
        ({"obstacle": GONE}, Way.ACCEPT),
        ({"obstacle": GONE, "affected": 40, "pipeline_class": "windowed"}, Way.ACCEPT),
    ],
)
def test_the_way_that_is_advised(changes: dict[str, Any], way: Way) -> None:
    advice = advise(damage(**changes))
    assert advice.recommended is way
    assert option(advice, way).obstacle is None
    assert advice.reason


def test_all_four_ways_are_told_with_their_effect_on_readers() -> None:
    advice = advise(damage(affected=10))
    assert [each.way for each in advice.options] == list(Way)
    assert "billing (7 behind)" in option(advice, Way.BACKFILL).effect
    assert "billing" in option(advice, Way.COMPENSATE).effect
    assert option(advice, Way.ACCEPT).effect == "10 of 100,000 rows (0.01%) are wrong, and stay wrong"


def test_time_and_cost_are_by_the_rehearsal() -> None:
    asked: list[Usage] = []

    def price(usage: Usage) -> Money:
        asked.append(usage)
        return Money(round(usage.seconds / 100, 2), "EUR")

    advice = advise(damage(rates=RATES, archive=LAKE, affected=500), price)
    backfill, refresh = option(advice, Way.BACKFILL), option(advice, Way.REFRESH)
    assert backfill.time == timedelta(seconds=120 + 1 + 2)
    assert backfill.cost == Money(1.23, "EUR")
    assert refresh.time == timedelta(seconds=50)
    assert option(advice, Way.COMPENSATE).time == timedelta(seconds=0.5)
    assert option(advice, Way.ACCEPT).time == timedelta()
    assert [(each.broker_bytes, each.storage_bytes) for each in asked] == [(24_000_000, 0), (0, 0), (0, 10**9)]


def test_without_a_rehearsal_reading_takes_as_long_as_the_contract_allows() -> None:
    assert option(advise(damage(bytes_per_second=1_000_000)), Way.BACKFILL).time == timedelta(seconds=24)
    assert option(advise(damage()), Way.BACKFILL).time is None
    assert option(advise(damage(obstacle=GONE, rates=RATES)), Way.BACKFILL).time is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"live": LiveCode.THE_SAME}, "fix the transform"),
        ({"live": LiveCode.NOT_RESTARTED}, "anabranch live stop orders; anabranch live start orders"),
        ({"rates": RATES, "headroom": timedelta(seconds=200)}, "raise retention.ms"),
    ],
)
def test_what_comes_first(changes: dict[str, Any], words: str) -> None:
    [first] = advise(damage(**changes)).first
    assert words in first


def test_nothing_comes_first_when_all_is_well() -> None:
    assert advise(damage(rates=RATES, headroom=HOUR)).first == ()
    assert advise(damage(live=LiveCode.THE_SAME, affected=0)).first == ()
