"""Rows that don't fit the target are refused, each way of not fitting by its own words."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.spark.transform.output_rows import OutputError, align, own_columns, time_column

pytestmark = pytest.mark.spark

TARGET = "id string, amount decimal(18,2), at timestamp"
PLACE = "_partition int, _offset bigint"


def schema(ddl: str) -> StructType:
    found = StructType.fromDDL(ddl)
    assert isinstance(found, StructType)
    return found


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (TARGET, "no column _partition"),
        (f"_partition int, {TARGET}", "no column _offset"),
        (f"_partition bigint, _offset bigint, {TARGET}", "_partition of the transform's output is bigint"),
        (f"{PLACE}, id string, amount decimal(18,2)", "missing: at"),
        (f"{PLACE}, {TARGET}, extra int", "not in the target: extra"),
        (f"{PLACE}, id string, amount int, at timestamp", "amount is int, the target has decimal(18,2)"),
        (f"{PLACE}, id bigint, amount decimal(18,2), at timestamp", "id is bigint, the target has string"),
        (f"{PLACE}, {TARGET}, ID string", "more than one column id"),
    ],
)  # fmt: skip
def test_refused(spark: SparkForTests, output: str, words: str) -> None:
    with pytest.raises(OutputError) as refused:
        align(spark.session.createDataFrame([], schema(output)), schema(TARGET))

    assert words in refused.value.what


def test_fitting_rows_get_the_targets_order_and_lose_what_is_not_its(spark: SparkForTests) -> None:
    given = spark.session.createDataFrame(
        [], schema(f"_key binary, at timestamp, {PLACE}, AMOUNT decimal(18,2), id string")
    )

    assert align(given, schema(TARGET)).columns == ["id", "amount", "at"]
    assert align(given, schema(TARGET), keep=("_partition", "_offset")).columns == [
        *("id", "amount", "at", "_partition", "_offset")
    ]
    assert align(given, schema(f"{TARGET}, _offset bigint")).columns == ["id", "amount", "at", "_offset"]
    assert own_columns(given).names == ["at", "AMOUNT", "id"]


def test_the_time_axis_of_a_new_table() -> None:
    assert time_column(schema("id string, placed timestamp"), "ordered_at") == "placed"
    assert time_column(schema("a timestamp, ordered_at timestamp"), "ORDERED_AT") == "ordered_at"
    with pytest.raises(OutputError, match="several timestamp columns"):
        time_column(schema("a timestamp, b timestamp"), "ordered_at")
    with pytest.raises(OutputError, match="no timestamp column"):
        time_column(schema("a string"), "ordered_at")
