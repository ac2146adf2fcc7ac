"""The zone map in the lake: kept small while it grows, never mixed, and answering for an hour of a month at once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, NestedField, StructType

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.adapters.iceberg.zone_files import FEWEST_SMALL, RETENTION_SECONDS, expire, small_files
from anabranch.adapters.iceberg.zones import SCHEMA, IcebergZones, MapKey
from anabranch.plan.offsets.completeness import MicrosRange
from anabranch.plan.offsets.intervals import union
from anabranch.plan.offsets.zone_spans import HOUR, ZoneSpan
from anabranch.plan.offsets.zones import BLOCK, Zone, combine

KEY = MapKey("Xy_-0123456789abcdefgQ", "d" * 64)
ONE_HOUR = MicrosRange(HOUR, 2 * HOUR)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    embedded = EmbeddedCatalog.below(tmp_path)
    embedded.create()
    return embedded.catalog("lake").open()


def zone(partition: int, block: int, low: int | None, high: int | None = None) -> Zone:
    start = block * BLOCK
    spans = () if low is None else (ZoneSpan(low, low if high is None else high, 7, start + 5, start + 99),)
    return Zone(partition, start, start + BLOCK, 9, 99, 9 - 7 * len(spans), spans, -1, 2**62)


def test_zones_come_back_as_they_went_in_and_keys_are_never_mixed(catalog: Catalog) -> None:
    zones = IcebergZones(catalog, "shop.orders")
    assert zones.look(KEY, ONE_HOUR).partitions == {}
    assert not zones.look(KEY, ONE_HOUR).other
    many = tuple(ZoneSpan(at, at + 5, 1, BLOCK, BLOCK + 1) for at in (-(2**63), 0, HOUR, 2**62))
    made = (zone(0, 0, 5), Zone(0, BLOCK, 2 * BLOCK, 4, 50, 0, many, None, None), zone(1, 0, None), zone(1, 1, HOUR))
    zones.add(KEY, made)
    assert zones.zones(KEY) == made
    for other in (MapKey("another", KEY.reading), MapKey(KEY.topic, "another")):
        found = zones.look(other, ONE_HOUR)
        assert (dict(found.partitions), found.other, zones.zones(other)) == ({}, True, ())
    found = zones.look(KEY, ONE_HOUR)
    assert found.partitions[0].elsewhere == ((0, BLOCK),)
    assert found.partitions[0].zones == made[1:2]
    assert found.partitions[1].elsewhere == ((0, BLOCK),), "no event time at all: in no range"
    assert found.partitions[1].zones == made[3:]


def test_a_map_of_before_is_read_and_goes_on_with_its_spans_anywhere_in_the_zone(catalog: Catalog) -> None:
    catalog.create_namespace("shop")
    spans = SCHEMA.find_field("spans").field_type
    assert isinstance(spans, ListType)
    assert isinstance(spans.element_type, StructType)
    former = ListType(14, StructType(*spans.element_type.fields[:3]), element_required=True)
    table = catalog.create_table(
        "shop.orders__zones", Schema(*SCHEMA.fields[:-1], NestedField(13, "spans", former, required=True))
    )
    row = {"topic": KEY.topic, "reading": KEY.reading, "partition": 0, "start": 0, "end": BLOCK, "count": 3, "bytes": 9}
    known = {"nulls": 0, "min_event": 5, "max_event": HOUR, "min_timestamp": 1, "max_timestamp": 2}
    said = [{"low": 5, "high": 6, "count": 2}, {"low": HOUR, "high": HOUR, "count": 1}]
    table.append(pa.Table.from_pylist([{**row, **known, "spans": said}], schema=table.schema().as_arrow()))
    zones = IcebergZones(catalog, "shop.orders")
    old = Zone(0, 0, BLOCK, 3, 9, 0, (ZoneSpan(5, 6, 2, 0, BLOCK), ZoneSpan(HOUR, HOUR, 1, 0, BLOCK)), 1, 2)
    assert zones.zones(KEY) == (old,)
    new = zone(0, 1, HOUR)
    zones.add(KEY, [new])
    assert zones.zones(KEY) == (old, new)
    assert set(zones.look(KEY, ONE_HOUR).partitions[0].zones) == {old, new}


def test_many_small_writes_leave_few_files_few_snapshots_and_every_fact(catalog: Catalog, tmp_path: Path) -> None:
    zones, other = IcebergZones(catalog, "shop.orders"), MapKey("another", KEY.reading)
    zones.add(other, [zone(0, 0, 1)])
    made = [
        Zone(0, at, at + 100, 3, 30, 0, (ZoneSpan(at, at, 3, at, at + 3),), 1, 2)
        for at in range(0, 100 * FEWEST_SMALL, 100)
    ]
    for each in made:
        zones.add(KEY, [each])
    table = catalog.load_table(zones.table)
    assert len(small_files(table)) < FEWEST_SMALL
    assert zones.zones(KEY) == combine(made)
    assert zones.zones(other) == (zone(0, 0, 1),)
    assert zones.counted(KEY) == {0: union((z.start, z.end) for z in made)}
    expire(table, time.time() + RETENTION_SECONDS + 60)
    table = catalog.load_table(zones.table)
    assert len(table.metadata.snapshots) == 1
    data = {file.name for file in tmp_path.rglob("*.parquet")}
    assert data == {task.file.file_path.rsplit("/", 1)[1] for task in table.scan().plan_files()}
    assert zones.zones(KEY) == combine(made), "what is in use was not deleted"


def test_an_hour_of_thirty_days_and_64_partitions_is_found_with_no_jvm(catalog: Catalog) -> None:
    """A zone of each hour, and in one of five an event that is up to days late."""
    chance, month = random.Random(30), []
    for partition in range(64):
        for hour in range(30 * 24):
            start = hour * BLOCK
            usual = ZoneSpan(hour * HOUR, (hour + 1) * HOUR - 1, 4000, start, start + BLOCK)
            at = chance.randrange(usual.low + 1)
            late = (ZoneSpan(at, at, 1, start, start + 1),) if chance.random() < 0.2 else ()
            month.append(Zone(partition, start, start + BLOCK, BLOCK, 10**6, 0, (*late, usual), None, None))
    zones = IcebergZones(catalog, "shop.orders")
    zones.add(KEY, month)
    wanted = MicrosRange(400 * HOUR, 401 * HOUR)
    found = zones.look(KEY, wanted)
    touched = [each for p in found.partitions.values() for each in p.zones if each.held(wanted.start, wanted.end)]
    assert sorted(touched, key=repr) == sorted((z for z in month if z.held(wanted.start, wanted.end)), key=repr)
    assert 64 < len(touched) < 64 * 2
    assert set(found.partitions) == set(range(64))
    for each in found.partitions.values():
        whole = union((*each.elsewhere, *((z.start, z.end) for z in each.zones)))
        assert whole == ((0, 30 * 24 * BLOCK),), "every offset is known to be in or out"
