"""A plan made by the zone map: what it reads, what it says of itself, and that it stays frozen and hashed."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.unit.plan.world import JUNE, World, hourly

from anabranch.cli.render_plan import completeness_of, facts_of, offsets_of
from anabranch.contract.backfill import Ungoverned
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.offsets.zone_spans import HOUR, ZoneSpan
from anabranch.plan.offsets.zones import PartitionZones, Zone, ZoneMap
from anabranch.plan.plan import read_plan
from anabranch.plan.planner import Planned
from anabranch.plan.ports import LiveHistory
from anabranch.plan.target_range import EPOCH

BASE = (JUNE - EPOCH).total_seconds() * 1_000_000
LIVE = {"live": LiveHistory({0: 480, 1: 480}, 3, True, frozenset(), 0)}
LOGS = [hourly(20), hourly(20)]
"""Each begins five days before June, with one event an hour."""


def zone(partition: int, start: int, end: int) -> Zone:
    first, last = (int(BASE) + (offset - 120) * HOUR for offset in (start, end - 1))
    return Zone(partition, start, end, end - start, 10, 0, (ZoneSpan(first, last, end - start, start, end),), 1, 2)


def late(zone: Zone) -> Zone:
    return replace(zone, spans=(ZoneSpan(int(BASE) + HOUR, int(BASE) + HOUR, 1, zone.start, zone.end), *zone.spans))


def zones(partition: int, *, upto: int = 480) -> PartitionZones:
    """By tens, and an event of the range in the last but one."""
    made = [zone(partition, start, start + 10) for start in range(0, upto, 10)]
    return PartitionZones((), (*made[:-2], late(made[-2]), made[-1]))


def planned(world: World, known: ZoneMap) -> Planned:
    return world.plan(LOGS, target=LIVE, zones=known)


BOTH = ZoneMap({0: zones(0), 1: zones(1)})


def test_the_plan_reads_what_the_map_proves_and_says_so(world: World) -> None:
    found = planned(world, BOTH)
    assert found.plan.source.ranges == dict.fromkeys((0, 1), ((120, 170), (460, 470)))
    assert found.plan.source.proof == {0: Proof.MAP, 1: Proof.MAP}
    assert completeness_of(found).startswith("proven by the zone map")
    assert found.estimates.map.amplification == 120 / 102
    assert dict(facts_of(found))["amplification"].startswith("1.18 ")
    assert [row[:3] for row in offsets_of(found)][:2] == [("0", "120", "170"), ("0", "460", "470")]
    assert sum(slice_.width for slice_ in found.plan.slices) == 120
    assert found.estimates.cautions == ()


def test_the_plan_says_that_the_governor_is_off_and_why(world: World) -> None:
    found = planned(world, BOTH)
    assert "governor" not in dict(facts_of(found))
    request = found.request
    spec = request.backfill.spec.model_copy(update={"governor": Ungoverned(off="live is down")})
    backfill = request.backfill.model_copy(update={"spec": spec})
    found = replace(found, request=replace(request, backfill=backfill))
    assert dict(facts_of(found))["governor"] == "off, the replay does not yield to live: live is down"


def test_it_is_frozen_and_hashed_with_its_proof(world: World) -> None:
    found = planned(world, BOTH).plan
    again = read_plan(json.loads(json.dumps(found.document())))
    assert (again, again.hash) == (found, found.hash)
    assert planned(world, ZoneMap({1: zones(1), 0: zones(0)})).plan.hash == found.hash
    assert planned(world, ZoneMap({})).plan.hash != found.hash


def test_a_partition_without_zones_is_planned_by_the_slack_and_told(world: World) -> None:
    found = planned(world, ZoneMap({0: zones(0)}))
    assert found.plan.source.ranges[1] == ((119, 170),)
    assert found.plan.source.proof == {0: Proof.MAP, 1: Proof.SLACK}
    assert [each.code for each in found.estimates.cautions] == ["zone-map-incomplete"]
    assert "anabranch zones build orders" in completeness_of(found)


def test_without_a_map_the_slack_is_named_and_a_build_is_offered(world: World) -> None:
    found = planned(world, ZoneMap({}))
    assert completeness_of(found).startswith("declared: by timestamps and a slack of 1h")
    assert "`anabranch zones build orders`" in completeness_of(found)
    assert found.estimates.cautions == ()


def test_a_map_of_another_topic_or_reading_is_told_and_not_used(world: World) -> None:
    found = planned(world, ZoneMap({}, other=True))
    assert set(found.plan.source.proof.values()) == {Proof.SLACK}
    assert [each.code for each in found.estimates.cautions] == ["zone-map-of-another-reading"]


def test_a_partition_that_the_map_rules_out_is_not_read_and_still_proven(world: World) -> None:
    none = PartitionZones(((0, 480),), ())
    found = planned(world, ZoneMap({0: zones(0), 1: none}))
    assert set(found.plan.source.ranges) == {0}
    assert found.plan.source.proof == {0: Proof.MAP, 1: Proof.MAP}
