"""A backfill by the zone map on the real stack: what the slack would miss is replayed, the rows are exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import open_project
from anabranch.app.zones import PipelineZones
from anabranch.contract.load import load_pipelines
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.offsets.zones import BLOCK, Zone
from anabranch.plan.planner import Planned
from anabranch.plan.target_range import EPOCH
from anabranch.validate.report import Verdict
from tests.fixtures.broker import Record
from tests.scenarios.backfills import JUNE, NOW
from tests.scenarios.checker import order_of
from tests.scenarios.shop import END, START, Shop, hours, order

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
ABSURD = 9_223_372_036_854_775_807


def fill(shop: Shop, hour: int) -> None:
    """A block of offsets of one partition that nobody sees: a transaction that was aborted."""
    stamp = round((JUNE + timedelta(hours=hour)).timestamp() * 1000)
    shop.transaction([{"value": b"", "partition": 0, "timestamp": stamp}] * BLOCK, commit=False)


def map_of(shop: Shop) -> PipelineZones:
    project_context = open_project(shop.project_context.folder, "dev")
    return PipelineZones(project_context, load_pipelines(project_context.loaded)["orders"])


def build(shop: Shop) -> tuple[Zone, ...]:
    work = map_of(shop)
    work.build(work.missing(), lambda _: None, shop.spark.session)
    assert map_of(shop).missing() == (), "a second build has nothing to do"
    return work.map.zones(work.key)


def planned(shop: Shop) -> Planned:
    project_context = open_project(shop.project_context.folder, "dev")
    return plan_backfill(project_context, project_context.folder / "contracts" / "fix.yaml", now=NOW)


def micros(record: Record) -> int | None:
    found = order_of(record)
    if found is None:
        return None
    return (datetime.fromisoformat(found["ordered_at"]) - EPOCH) // timedelta(microseconds=1)


def in_range(record: Record) -> bool:
    found = micros(record)
    return found is not None and START <= EPOCH + timedelta(microseconds=found) < END


def require_true(zones: tuple[Zone, ...], shop: Shop) -> None:
    """Each zone as a plain consumer counts it; together, every offset once."""
    records = shop.records()
    for zone in zones:
        mine = [r for r in records if r.partition == zone.partition and zone.start <= r.offset < zone.end]
        events = sorted(at for at in map(micros, mine) if at is not None)
        assert (zone.count, zone.nulls) == (len(mine), len(mine) - len(events))
        assert zone.bytes == sum(len(r.key or b"") + len(r.value or b"") for r in mine)
        for span in zone.spans:
            inside = [at for at in events if span.low <= at <= span.high]
            assert (len(inside), inside[0], inside[-1]) == (span.count, span.low, span.high)
        assert sum(span.count for span in zone.spans) == len(events)
        stamps = [r.timestamp for r in mine if r.timestamp != ABSURD]
        assert (zone.oldest, zone.newest) == (min(stamps, default=None), max(stamps, default=None))
    for partition, end in shop.ends().items():
        covered = sorted((z.start, z.end) for z in zones if z.partition == partition)
        assert [0, *(after for _, after in covered)] == [*(start for start, _ in covered), end]


@pytest.mark.long
def test_an_event_that_the_slack_would_miss_is_replayed_by_the_map(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop(config={"message.timestamp.after.max.ms": str(ABSURD)})
    late = order(77_778, START + timedelta(minutes=30), stamped=JUNE + timedelta(hours=13))
    poison = {"value": b"no order", "partition": 0, "timestamp": late["timestamp"]}
    absurd = {**order(88_888, START), "timestamp": ABSURD, "partition": 1}
    tombstone = {"value": None, "partition": 1, "timestamp": late["timestamp"]}
    shop.produce(hours())
    fill(shop, 6)
    shop.produce(hours(range(6, 12), begin=1000))
    fill(shop, 12)
    shop.produce([poison, late, tombstone, absurd])
    shop.live()
    (at,) = [r.offset for r in shop.records() if r.partition == 0 and b"o77778" in (r.value or b"")]

    by_slack = planned(shop)
    assert by_slack.plan.source.proof[0] is Proof.SLACK
    assert not any(start <= at < end for start, end in by_slack.plan.source.ranges[0]), "the slack misses it"

    zones = build(shop)
    require_true(zones, shop)
    by_map = planned(shop)
    assert set(by_map.plan.source.proof.values()) == {Proof.MAP}
    assert not [each for each in by_map.estimates.cautions if each.code.startswith("zone-map")]
    assert by_map.plan.hash == planned(shop).plan.hash
    asked = [r.offset for r in shop.records() if r.partition == 0 and in_range(r)]
    assert asked[-1] == at
    assert by_map.plan.source.ranges[0] == ((asked[0], asked[-2] + 1), (at, at + 1)), "all that is between is left out"

    former = shop.former()
    run = shop.plan(slices=2)
    assert run.plan.source.ranges == by_map.plan.source.ranges
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.promote(run)
    shop.require(shop.corrected())
    assert any(row[0] == "o77778" for row in shop.corrected() - former), "the late order is corrected too"
    record = shop.close(run)
    assert record["offsets"] == json.loads(json.dumps(run.plan.document()["source"]["ranges"]))
    assert record["complete_by"] == {"0": "map", "1": "map"}


def test_a_map_of_another_reading_or_another_topic_is_not_used_and_that_is_said(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop()
    shop.produce(hours())
    shop.live()
    former = build(shop)
    assert set(planned(shop).plan.source.proof.values()) == {Proof.MAP}

    pipeline = Path(shop.project_context.folder) / "pipelines" / "orders.yaml"
    text = pipeline.read_text()
    assert "customer: string" in text
    pipeline.write_text(text.replace("customer: string", "customer: string\n      note: string"))
    other = planned(shop)
    assert set(other.plan.source.proof.values()) == {Proof.SLACK}
    assert "zone-map-of-another-reading" in {each.code for each in other.estimates.cautions}

    pipeline.write_text(text.replace("slack: 10m", "slack: 11m"))
    assert set(planned(shop).plan.source.proof.values()) == {Proof.MAP}, "the slack is no part of the reading"

    shop.recreate_topic(hours(begin=5000))
    other = planned(shop)
    assert set(other.plan.source.proof.values()) == {Proof.SLACK}
    assert "zone-map-of-another-reading" in {each.code for each in other.estimates.cautions}
    anew = build(shop)
    require_true(anew, shop)
    assert len(anew) == len(former)
    assert set(planned(shop).plan.source.proof.values()) == {Proof.MAP}
