"""The checksum of rows (I11): the same for the same rows however they lie, and another for any single change."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.spark.validate.rows import hashes, joined, sample, sums
from anabranch.validate.measures import Checksum

pytestmark = [pytest.mark.long, pytest.mark.spark]

SCHEMA = (
    "text string, whole bigint, price decimal(38,10), real double, small float, flag boolean, day date, at timestamp, "
    "raw binary, list array<string>, nested array<array<int>>, map map<string,map<string,int>>, "
    "record struct<a:string,b:struct<c:int,d:array<int>>>, local timestamp_ntz"
)
# As literals of SQL, so that what reaches Spark is exactly this.
PLAIN: dict[str, str] = {
    "text": "'x'",
    "whole": "1L",
    "price": "CAST('12.3400000001' AS DECIMAL(38,10))",
    "real": "1.5D",
    "small": "CAST(1.5 AS FLOAT)",
    "flag": "true",
    "day": "DATE '2025-06-01'",
    "at": "TIMESTAMP '2025-06-01 10:00:00.000001'",
    "raw": "X'00FF'",
    "list": "array('a', 'b')",
    "nested": "array(array(1), array(2, 3))",
    "map": "map('k', map('x', 1), 'l', map('y', 2))",
    "record": "named_struct('a', 'x', 'b', named_struct('c', 1, 'd', array(1)))",
    "local": "TIMESTAMP_NTZ '2025-06-01 10:00:00'",
}
CHANGES = [
    {"text": "'y'"},
    {"text": "''"},
    {"text": "NULL"},
    {"text": "'x '"},
    {"whole": "2L"},
    {"whole": "NULL"},
    {"price": "CAST('12.3400000002' AS DECIMAL(38,10))"},
    {"real": "NULL"},
    {"real": "double('NaN')"},
    {"real": "double('Infinity')"},
    {"real": "double('-Infinity')"},
    {"real": "0.0D"},
    {"small": "CAST(1.25 AS FLOAT)"},
    {"flag": "false"},
    {"flag": "NULL"},
    {"day": "DATE '2025-06-02'"},
    {"at": "TIMESTAMP '2025-06-01 10:00:00.000002'"},
    {"local": "TIMESTAMP_NTZ '2025-06-01 10:00:01'"},
    {"raw": "X'00FE'"},
    {"raw": "X''"},
    {"list": "array('b', 'a')"},
    {"list": "array('a', 'b', NULL)"},
    {"list": "array(NULL, 'a', 'b')"},
    {"list": "array('a', NULL, 'b')"},
    {"list": "array('a,b')"},
    {"list": "array()"},
    {"list": "NULL"},
    {"nested": "array(array(1, 2), array(3))"},
    {"nested": "array(array(1), array(2, 3), array())"},
    {"nested": "array(array(1), NULL, array(2, 3))"},
    {"map": "map('k', map('x', 2), 'l', map('y', 1))"},
    {"map": "map('k', map('x', 1), 'l', map('y', NULL))"},
    {"map": "map('k', map('x', 1), 'l', NULL)"},
    {"map": "map('k', map('x', 1))"},
    {"map": "map()"},
    {"map": "NULL"},
    {"record": "named_struct('a', 'x', 'b', named_struct('c', NULL, 'd', array(1)))"},
    {"record": "named_struct('a', 'x', 'b', NULL)"},
    {"record": "named_struct('a', NULL, 'b', named_struct('c', 1, 'd', array(1)))"},
    {"record": "NULL"},
]


def frame(spark: SparkForTests, rows: Sequence[dict[str, str]], number: str | None = None) -> DataFrame:
    """The rows, typed as the schema says; with the column `number` they are counted, from 0."""
    schema = StructType.fromDDL(SCHEMA)
    assert isinstance(schema, StructType)
    kinds = {field.name: field.dataType.simpleString() for field in schema}
    names = [*kinds, *([] if number is None else [number])]
    lines = []
    for n, row in enumerate(rows):
        cells = [f"CAST({row[name]} AS {kind})" for name, kind in kinds.items()]
        lines.append(f"({', '.join([*cells, str(n)][: len(names)])})")
    return spark.session.sql(f"SELECT * FROM VALUES {', '.join(lines)} AS t({', '.join(names)})")  # noqa: S608


def each_checksum(rows: DataFrame, tell: str) -> dict[Any, Checksum]:
    first, second = hashes(rows.drop(tell).schema)
    counted = rows.groupBy(tell).agg(sf.count("*").alias("n"), *sums(first, "a"), *sums(second, "b")).collect()
    return {
        r[tell]: Checksum(r["n"], joined(r["a_high"], r["a_low"]), joined(r["b_high"], r["b_low"])) for r in counted
    }


def checksum(rows: DataFrame) -> Checksum:
    return each_checksum(rows.withColumn("_all", sf.lit(1)), "_all")[1]


def test_any_single_change_is_another_checksum(spark: SparkForTests) -> None:
    """All changed rows at once, each in its own group: no two of them are alike, in neither hash."""
    rows = [PLAIN, *({**PLAIN, **change} for change in CHANGES)]
    found = each_checksum(frame(spark, rows, "_n"), "_n")
    assert len(found) == len(rows)
    for half in ("first", "second"):
        assert len({getattr(each, half) for each in found.values()}) == len(rows), half


@pytest.mark.parametrize(
    "same",
    [
        {"map": "map('l', map('y', 2), 'k', map('x', 1))"},
        {"price": "CAST('12.34000000010' AS DECIMAL(38,10))"},
    ],
)
def test_another_spelling_of_the_same_value_is_the_same(spark: SparkForTests, same: dict[str, str]) -> None:
    assert checksum(frame(spark, [{**PLAIN, **same}])) == checksum(frame(spark, [PLAIN]))


def test_zeros_and_nans_that_compare_equal_are_the_same(spark: SparkForTests) -> None:
    zero, minus = ({**PLAIN, "real": f"{sign}0.0D", "small": f"CAST('{sign}0.0' AS FLOAT)"} for sign in ("", "-"))
    assert checksum(frame(spark, [zero])) == checksum(frame(spark, [minus]))
    nans = ("double('NaN')", "sqrt(-1.0D)")
    assert len({checksum(frame(spark, [{**PLAIN, "real": nan}])) for nan in nans}) == 1


def test_nulls_in_another_column_are_another_row(spark: SparkForTests) -> None:
    """Spark's own hash skips nulls: (null, x) and (x, null) would be one."""
    session = spark.session
    left = session.sql("SELECT CAST(NULL AS string) a, 'x' b")
    right = session.sql("SELECT 'x' a, CAST(NULL AS string) b")
    assert checksum(left) != checksum(right)


def test_order_partitions_and_columns_do_not_matter_but_every_row_does(spark: SparkForTests) -> None:
    session = spark.session
    rows = session.range(0, 5000).select(
        "id",
        sf.sha2(sf.col("id").cast("string"), 256).alias("text"),
        sf.map_from_arrays(sf.array(sf.col("id").cast("string")), sf.array(sf.col("id"))).alias("map"),
    )
    plain = checksum(rows)
    assert plain.rows == 5000
    for seed, partitions in ((1, 1), (2, 7)):
        shuffled = rows.repartition(partitions, sf.rand(seed)).orderBy(sf.rand(seed))
        assert checksum(shuffled.select("map", "id", "text")) == plain
    missing = random.Random(7).randrange(5000)
    assert checksum(rows.where(sf.col("id") != missing)) != plain
    twice = checksum(rows.union(rows.where(sf.col("id") == missing)))
    assert (twice.rows, twice.text == plain.text) == (5001, False)
    swapped = rows.withColumn("text", sf.when(sf.col("id") == missing, sf.lit("other")).otherwise(sf.col("text")))
    assert checksum(swapped) != plain
    halves = [checksum(rows.where(f"id % 2 = {rest}")) for rest in (0, 1)]
    assert halves[0] + halves[1] == plain


def test_rows_of_the_same_pair_twice_do_not_cancel_out(spark: SparkForTests) -> None:
    """As they would in an exclusive or."""
    one, two = frame(spark, [PLAIN, PLAIN]), frame(spark, [{**PLAIN, "text": "'y'"}] * 2)
    assert checksum(one).text != checksum(two).text


def test_a_variant_can_be_told_apart(spark: SparkForTests) -> None:
    session = spark.session
    found = [checksum(session.sql(f"SELECT parse_json('{text}') v")) for text in ('{"a":1}', '{"a":2}', '{ "a" : 1 }')]
    assert found[0] == found[2] != found[1]


def test_rows_are_shown_exactly(spark: SparkForTests) -> None:
    [row] = sample(frame(spark, [{**PLAIN, "text": "NULL", "whole": "9223372036854775807L"}]), 1)
    assert row["text"] is None
    assert row["whole"] == 9223372036854775807
    assert row["price"] == "12.3400000001"
    assert row["at"] == "2025-06-01T10:00:00.000001Z"
    assert row["map"] == {"k": {"x": 1}, "l": {"y": 2}}
    json.dumps(dict(row), allow_nan=False)
    [long] = sample(spark.session.sql("SELECT repeat('x', 5000) a, double('NaN') b"), 1)
    assert long == {"a": "x" * 500 + "… (5000 characters)", "b": "NaN"}
