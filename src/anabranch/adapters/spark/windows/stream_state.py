"""Compares the state of two checkpoints of a stream by key, with Spark's state data source."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.replay.state_comparison import Held, KeyDifference, StateComparison, StoreComparison

SAMPLE = 20
_UTC = {"timeZone": "UTC"}


def compare_states(spark: SparkSession, a: Held, b: Held) -> StateComparison:
    """Every store of either checkpoint. A missing store counts as empty."""
    stores = sorted({*_stores(spark, a.path), *_stores(spark, b.path)})
    return StateComparison(a, b, tuple(_compare(spark, a, b, *store) for store in stores))


def _stores(spark: SparkSession, checkpoint: Path) -> list[tuple[int, str]]:
    stores = spark.read.format("state-metadata").load(checkpoint.as_uri())
    return [(row["operatorId"], row["stateStoreName"]) for row in stores.collect()]


def _compare(spark: SparkSession, a: Held, b: Held, operator: int, store: str) -> StoreComparison:
    ours, theirs = (_state(spark, held, operator, store).alias(side) for held, side in ((a, "a"), (b, "b")))
    both = ours.join(theirs, F.col("a.key") == F.col("b.key"), "full_outer").select(
        F.coalesce("a.key", "b.key").alias("key"), F.col("a.value").alias("a"), F.col("b.value").alias("b")
    )
    only_a, only_b = F.col("b").isNull(), F.col("a").isNull()
    same = F.col("a") == F.col("b")
    counts = both.agg(_count(same, "same"), _count(only_a, "only_a"), _count(only_b, "only_b"), _all()).first()
    if counts is None:
        raise AssertionError("an aggregate without groups has one row")
    unlike = both.where(~F.coalesce(same, F.lit(False))).orderBy("key").limit(SAMPLE).collect()
    return StoreComparison(
        operator,
        store,
        same=counts["same"],
        different=counts["all"] - counts["same"] - counts["only_a"] - counts["only_b"],
        only_a=counts["only_a"],
        only_b=counts["only_b"],
        first=tuple(KeyDifference(row["key"], row["a"], row["b"]) for row in unlike),
    )


def _state(spark: SparkSession, held: Held, operator: int, store: str) -> DataFrame:
    """Key and value as JSON text, which is comparable between two versions of a transform."""
    if (operator, store) not in _stores(spark, held.path):
        return spark.createDataFrame([], "key string, value string")
    state = (
        spark.read.format("statestore")
        .option("batchId", held.batch)
        .option("operatorId", operator)
        .option("storeName", store)
        .load(held.path.as_uri())
    )
    return state.select(F.to_json("key", _UTC).alias("key"), F.to_json("value", _UTC).alias("value"))


def _count(of: Column, name: str) -> Column:
    return F.count_if(of).alias(name)


def _all() -> Column:
    return F.count("*").alias("all")
