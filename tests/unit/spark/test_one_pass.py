"""What one pass over a slice rests on: counts that are exact, and transforms that give one row of an event at most."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.spark.native.record_counter import CountSpec, RecordCounter
from anabranch.adapters.spark.native.slice_queries import one_row_at_most

pytestmark = pytest.mark.spark

KINDS = ("good", "bad", "gone")


def events(spark: SparkForTests, rows: list[tuple[int, int]]) -> DataFrame:
    return spark.session.createDataFrame(rows, "_partition int, kind int").repartition(7)


def count(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


@pytest.mark.parametrize("partitions", [1, 3, 200])
def test_counts_are_exact_however_many_partitions(spark: SparkForTests, partitions: int) -> None:
    chance = random.Random(partitions)
    rows = [(chance.randrange(partitions) * 5, chance.choice((0, 0, 0, 1, 2))) for _ in range(3000)]
    numbers = [number * 5 for number in range(partitions)]
    tally = RecordCounter(spark.session, numbers, KINDS)
    count(tally.on(events(spark, rows), CountSpec.of(len(KINDS), F.col("kind"), F.lit(2))))
    expected = Counter(rows)
    assert tally.counts == {n: {kind: expected[n, k] for k, kind in enumerate(KINDS)} for n in numbers}
    assert (tally.amount, tally.counted) == (6000, 3000)


def test_nothing_is_counted_as_nothing(spark: SparkForTests) -> None:
    tally = RecordCounter(spark.session, [3], KINDS)
    count(tally.on(events(spark, []), CountSpec.of(len(KINDS), F.col("kind"), F.lit(2))))
    assert (tally.counts, tally.amount) == ({3: dict.fromkeys(KINDS, 0)}, 0)


def test_who_is_of_no_partition_that_was_asked_for_is_not_hidden(spark: SparkForTests) -> None:
    tally = RecordCounter(spark.session, [3], KINDS)
    stray = spark.session.createDataFrame([(3, 0), (-2, 1), (None, 0)], "_partition int, kind int")
    counted = tally.on(stray, CountSpec.of(len(KINDS), F.col("kind")))
    assert counted.count() == 3, "nobody is left out for being strange"
    assert {number: sum(each.values()) for number, each in tally.counts.items()} == {3: 1, -2: 1, -1: 1}


def test_each_row_is_counted_once_whatever_is_chosen_below_and_above(spark: SparkForTests) -> None:
    """Spark moves filters about. One that counts has to stay where it is."""
    below, above = (RecordCounter(spark.session, [0, 1], KINDS) for _ in range(2))
    asked = CountSpec.of(len(KINDS), F.col("kind"))
    rows = [(number % 2, number % 3) for number in range(600)]
    doubled = below.on(events(spark, rows), asked).where("kind > 0").withColumn("kind", F.col("kind") - 1)
    assert above.on(doubled, asked).where("_partition = 1").where("kind = 0").count() == 100
    assert (below.counted, above.counted) == (600, 400)
    assert above.counts == {0: {"good": 100, "bad": 100, "gone": 0}, 1: {"good": 100, "bad": 100, "gone": 0}}


def test_a_function_in_python_is_called_once_for_each_row_that_is_counted(spark: SparkForTests) -> None:
    tally, calls = RecordCounter(spark.session, [0], KINDS), spark.session.sparkContext.accumulator(0)

    def kind(given: int) -> int:
        calls.add(1)
        return given

    rows = events(spark, [(0, 1)] * 40).withColumn("kind", F.udf(kind, "int")("kind"))
    count(tally.on(rows, CountSpec.of(len(KINDS), F.col("kind"))))
    assert (tally.counted, calls.value) == (40, 40)


ONE_AT_MOST: dict[str, Callable[[DataFrame], DataFrame]] = {
    "as it came": lambda rows: rows,
    "columns and filters": lambda rows: rows.where("kind = 0").withColumn("twice", F.col("kind") * 2).drop("kind"),
    "a query": lambda rows: rows.sparkSession.sql("SELECT *, kind + 1 AS more FROM {rows} WHERE kind > 0", rows=rows),
    "a function in Python": lambda rows: rows.withColumn("twice", F.udf(lambda kind: 2 * kind, "int")("kind")),
}
MAYBE_MORE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "exploded": lambda rows: rows.withColumn("each", F.explode(F.array(F.lit(1), F.lit(2)))),
    "both halves": lambda rows: rows.union(rows),
    "joined": lambda rows: rows.join(rows.sparkSession.range(3), F.col("id") == F.col("kind")),
    "added up": lambda rows: rows.groupBy("_partition").count(),
    "in a window": lambda rows: rows.withColumn("n", F.row_number().over(Window.orderBy("kind"))),
    "no doubles": lambda rows: rows.dropDuplicates(),
    "from somewhere else": lambda rows: rows.sparkSession.range(3),
}


@pytest.mark.parametrize("transform", [*ONE_AT_MOST, *MAYBE_MORE])
def test_whether_an_event_gives_one_row_at_most(spark: SparkForTests, transform: str) -> None:
    counted = RecordCounter(spark.session, [0], KINDS).on(
        events(spark, [(0, 0)]), CountSpec.of(len(KINDS), F.col("kind"))
    )
    rows = {**ONE_AT_MOST, **MAYBE_MORE}[transform](counted)
    assert one_row_at_most(rows, counted) is (transform in ONE_AT_MOST)
