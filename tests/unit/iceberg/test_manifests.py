"""What manifests hold and what their bounds rule out: over small real tables."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, ManifestEntryStatus, ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType
from tests.fixtures.properties import effort

from anabranch.adapters.iceberg.manifests import (
    Spans,
    entries_of,
    live_entries,
    manifests_of,
    may_hold,
    spans_of,
    within,
)
from anabranch.plan.target_range import Grain, ordinal

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
ZERO = ordinal(Grain.DAY, JUNE)
SCHEMA = Schema(
    NestedField(1, "at", TimestamptzType(), required=False),
    NestedField(2, "shop", StringType(), required=False),
    NestedField(3, "id", LongType(), required=False),
)
BY_DAY = PartitionField(1, 1000, DayTransform(), "day")
BY_SHOP = PartitionField(2, 1001, IdentityTransform(), "shop")


def table_of(catalog: Catalog, *fields: PartitionField) -> Table:
    return catalog.create_table("shop.orders", SCHEMA, partition_spec=PartitionSpec(*fields))


def put(table: Table, *days: int | None, shop: str | None = "a") -> None:
    moments = [None if day is None else JUNE + timedelta(days=day) for day in days]
    rows: dict[str, list[Any]] = {"at": moments, "shop": [shop] * len(days), "id": [*range(len(days))]}
    table.append(pa.table(rows, schema=table.schema().as_arrow()))


def manifests(table: Table) -> list[ManifestFile]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return manifests_of(snapshot, table.io)


def files(table: Table) -> list[DataFile]:
    return [each.data_file for _, entries in live_entries(manifests(table), table.io) for each in entries]


def at(first: int, last: int) -> Spans:
    return {0: (ZERO + first, ZERO + last)}


def test_every_commit_has_a_manifest_and_every_file_an_entry(shop: Catalog) -> None:
    table = table_of(shop, BY_DAY)
    put(table, 0, 1)
    put(table, 2)
    assert sorted(len(entries_of(each, table.io)) for each in manifests(table)) == [1, 2]
    assert sorted(each.partition[0] - ZERO for each in files(table)) == [0, 1, 2]


def test_a_manifest_is_read_once(shop: Catalog) -> None:
    table = table_of(shop, BY_DAY)
    put(table, 0)
    [manifest] = manifests(table)
    [again] = manifests(table)
    assert entries_of(manifest, table.io) is entries_of(again, table.io)


def test_a_removed_file_has_an_entry_and_is_not_live(shop: Catalog) -> None:
    table = table_of(shop, BY_DAY)
    put(table, 0, 1)
    table.delete("id == 0")
    assert [each.partition[0] - ZERO for each in files(table)] == [1]
    snapshot = table.current_snapshot()
    assert snapshot is not None
    written = snapshot.manifests(table.io)
    statuses = {each.status for manifest in written for each in entries_of(manifest, table.io)}
    assert ManifestEntryStatus.DELETED in statuses
    live = [each.data_file.partition[0] - ZERO for _, entries in live_entries(written, table.io) for each in entries]
    assert live == [1], "whichever manifest says so"


def test_manifests_with_nothing_left_are_left_out(shop: Catalog) -> None:
    table = table_of(shop, BY_DAY)
    put(table, 0)
    table.delete("id == 0")
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert len(snapshot.manifests(table.io)) == 1
    assert manifests(table) == []


@pytest.mark.parametrize(
    ("first", "last", "may"),
    [(2, 4, True), (0, 2, True), (4, 9, True), (3, 3, True), (0, 9, True), (-9, 1, False), (5, 5, False)],
)
def test_a_manifest_may_hold_what_its_bounds_do_not_rule_out(shop: Catalog, first: int, last: int, may: bool) -> None:
    """It has days 2 and 4. Day 3 lies between them, and only a look into it would tell."""
    table = table_of(shop, BY_DAY)
    put(table, 2, 4)
    [manifest] = manifests(table)
    assert may_hold(manifest, at(first, last)) is may


def test_no_spans_rule_out_nothing_and_nulls_are_in_no_span(shop: Catalog) -> None:
    table = table_of(shop, BY_DAY)
    put(table, None)
    [manifest] = manifests(table)
    assert may_hold(manifest, {})
    assert not may_hold(manifest, at(-(10**6), 10**6))
    [file] = files(table)
    assert within({}, file)
    assert not within(at(-(10**6), 10**6), file)


def test_a_manifest_without_partitions_may_hold_anything(shop: Catalog) -> None:
    table = table_of(shop)
    put(table, 0)
    [manifest] = manifests(table)
    assert may_hold(manifest, at(5, 6))


def test_days_before_1970_are_numbers_too(shop: Catalog) -> None:
    table = table_of(shop, BY_DAY)
    put(table, -ZERO - 3)
    [manifest] = manifests(table)
    assert may_hold(manifest, {0: (-3, -3)})
    assert not may_hold(manifest, {0: (0, 10**6)})
    assert not may_hold(manifest, {0: (-10, -4)})


@effort(60, 2_000)
@given(st.lists(st.integers(-400, 400), min_size=1, max_size=6), st.integers(-400, 400), st.integers(0, 50))
def test_a_file_is_within_the_spans_of_any_files_that_it_is_one_of(days: list[int], first: int, width: int) -> None:
    """And it is within a span exactly if its number is."""
    made = [DataFile.from_args(file_path=f"{n}.parquet", partition=Record(day)) for n, day in enumerate(days)]
    spans = spans_of(made)
    assert spans == {0: (min(days), max(days))}
    assert all(within(spans, each) for each in made)
    asked = {0: (first, first + width)}
    assert [within(asked, each) for each in made] == [first <= day <= first + width for day in days]


def test_only_whole_numbers_have_a_span(shop: Catalog) -> None:
    table = table_of(shop, BY_DAY, BY_SHOP)
    put(table, 0, shop="a")
    put(table, 3, shop="b")
    assert spans_of(files(table)) == at(0, 3)
    put(table, None, shop="b")
    assert spans_of(files(table)) == {}, "with a null among them nothing can be ruled out"
