"""Whether a table that is there is partitioned as its pipeline says: over small real tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import NestedField, StringType, TimestamptzType
from tests.unit.plan.world import World, pipeline

from anabranch.adapters.iceberg.partitioning import OtherPartitioningError, partitioning_of, require_partitioning
from anabranch.contract.partitioning import PartitionField
from anabranch.contract.pipeline import PipelineSpec

AT, KEY = 1, 2
SCHEMA = Schema(
    NestedField(AT, "Ordered_At", TimestamptzType(), required=False),
    NestedField(KEY, "order_id", StringType(), required=False),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project's, with the files that a pipeline names."""
    return World.below(tmp_path_factory.mktemp("project") / "shop").folder


def table_by(shop: Catalog, *fields: tuple[int, Transform[Any, Any]]) -> Table:
    made = [IcebergField(source, 1000 + n, each, f"p{n}") for n, (source, each) in enumerate(fields)]
    return shop.create_table("shop.orders", SCHEMA, partition_spec=PartitionSpec(*made))


def spec(folder: Path, partition_by: str | list[str] | None) -> PipelineSpec:
    target: dict[str, Any] = {"table": "shop.orders", "keys": ["order_id"]}
    if partition_by is not None:
        target["partitionBy"] = partition_by
    return pipeline(folder, target=target).spec


@pytest.mark.parametrize(
    ("source", "transform", "field"),
    [
        (AT, HourTransform(), PartitionField("hour", "Ordered_At")),
        (AT, DayTransform(), PartitionField("day", "Ordered_At")),
        (AT, MonthTransform(), PartitionField("month", "Ordered_At")),
        (AT, YearTransform(), PartitionField("year", "Ordered_At")),
        (KEY, BucketTransform(16), PartitionField("bucket", "order_id", 16)),
        (KEY, TruncateTransform(4), PartitionField("truncate", "order_id", 4)),
        (KEY, IdentityTransform(), PartitionField("identity", "order_id")),
    ],
)
def test_each_transform_is_read_as_a_pipeline_would_write_it(
    shop: Catalog, folder: Path, source: int, transform: Transform[Any, Any], field: PartitionField
) -> None:
    by_time: list[tuple[int, Transform[Any, Any]]] = [] if source == AT else [(AT, DayTransform())]
    table = table_by(shop, *by_time, (source, transform))
    assert partitioning_of(table)[len(by_time) :] == (field,)
    require_partitioning(table, spec(folder, [*(["days(ordered_at)"] if by_time else []), str(field)]))


def test_a_table_without_partitions_has_none(shop: Catalog) -> None:
    assert partitioning_of(table_by(shop)) == ()


def test_the_order_is_that_of_the_table(shop: Catalog) -> None:
    table = table_by(shop, (AT, DayTransform()), (KEY, BucketTransform(4)))
    assert [each.transform for each in partitioning_of(table)] == ["day", "bucket"]


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_field_that_was_dropped_counts_as_none(shop: Catalog, version: str) -> None:
    """Of version 1 it stays in the table's partitioning as void."""
    made = [IcebergField(AT, 1000, DayTransform(), "day"), IcebergField(KEY, 1001, BucketTransform(4), "bucket")]
    table = shop.create_table(
        "shop.orders", SCHEMA, partition_spec=PartitionSpec(*made), properties={"format-version": version}
    )
    with table.update_spec() as change:
        change.remove_field("bucket")
    assert partitioning_of(table) == (PartitionField("day", "Ordered_At"),)


@pytest.mark.parametrize(
    "written",
    [None, "day", ["days(ordered_at)", "bucket(4, order_id)"], ["days(ORDERED_AT)", "bucket(4, Order_Id)"]],
)
def test_a_pipeline_that_names_the_partitioning_or_none_is_served(
    shop: Catalog, folder: Path, written: str | list[str] | None
) -> None:
    fields: list[tuple[int, Transform[Any, Any]]] = [(AT, DayTransform())]
    if written != "day":
        fields.append((KEY, BucketTransform(4)))
    require_partitioning(table_by(shop, *fields), spec(folder, written))


@pytest.mark.parametrize(
    "written",
    [
        "hour",
        ["hours(ordered_at)", "bucket(4, order_id)"],
        ["days(ordered_at)"],
        ["days(ordered_at)", "bucket(8, order_id)"],
        ["bucket(4, order_id)", "days(ordered_at)"],
        ["days(ordered_at)", "truncate(4, order_id)"],
        ["days(ordered_at)", "bucket(4, order_id)", "order_id"],
        ["days(paid_at)", "bucket(4, order_id)"],
    ],
)
def test_a_pipeline_that_names_another_is_refused(shop: Catalog, folder: Path, written: str | list[str]) -> None:
    table = table_by(shop, (AT, DayTransform()), (KEY, BucketTransform(4)))
    with pytest.raises(OtherPartitioningError) as refused:
        require_partitioning(table, spec(folder, written))
    assert refused.value.fields["table"] == "shop.orders"
    assert '["days(Ordered_At)", "bucket(4, order_id)"]' in refused.value.remedy, "what to write instead"


def test_what_is_offered_can_be_written(shop: Catalog, folder: Path) -> None:
    table = table_by(shop, (AT, DayTransform()), (KEY, BucketTransform(4)))
    require_partitioning(table, spec(folder, [str(each) for each in partitioning_of(table)]))


def test_a_table_without_partitions_is_refused_where_some_are_named(shop: Catalog, folder: Path) -> None:
    with pytest.raises(OtherPartitioningError) as refused:
        require_partitioning(table_by(shop), spec(folder, "day"))
    assert "Remove `partitionBy`" in refused.value.remedy
