"""Counts records by partition and kind in the pass that writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.spark.decode.decode import evaluated_once
from anabranch.adapters.spark.native.functions import function

_NUMBER = "_number"
_NO_PARTITION = -1


class RecordCounter:
    """Counts the rows of a frame by partition and kind while a job computes it.

    Rows are counted by a function in Spark's generated code. Spark's `observe` is outside of generated code, so every
    row would be copied before and after it.
    """

    def __init__(self, spark: SparkSession, partitions: Sequence[int], kinds: Sequence[str]) -> None:
        self._partitions = sorted(partitions)
        self._kinds = list(kinds)
        jvm: Any = spark._jvm
        self._counter = jvm.anabranch.RecordCounter.registered(spark._jsc.sc())

    def in_place_of(self, other: RecordCounter) -> tuple[str, Any]:
        """The template's counter id, and the accumulator that replaces it."""
        return str(other._counter.id()), self._counter

    def on(self, frame: DataFrame, spec: CountSpec) -> DataFrame:
        """The frame with counting, which happens when it is computed."""
        counted = function("counted", str(self._counter.id()), given=(F.col(_NUMBER), spec.amount))
        return frame.withColumn(_NUMBER, spec.number).where(counted).drop(_NUMBER)

    @property
    def amount(self) -> int:
        """The sum of the spec's amount over all rows."""
        return int(self._counter.amount())

    @cached_property
    def counts(self) -> dict[int, dict[str, int]]:
        """By partition and kind, zeros included; also partitions that were not expected but had rows."""
        counts = {partition: dict.fromkeys(self._kinds, 0) for partition in self._partitions}
        for each in self._counter.counts().split():
            number, count = each.split("=")
            partition, kind = divmod(int(number), len(self._kinds))
            counts.setdefault(partition, dict.fromkeys(self._kinds, 0))[self._kinds[kind]] += int(count)
        return counts

    @property
    def counted(self) -> int:
        """The sum of `counts`."""
        return sum(sum(each.values()) for each in self.counts.values())


@dataclass(frozen=True)
class CountSpec:
    """The definition of a count. Reusable for every frame with the same columns: building it takes hundreds of calls to
    the JVM."""

    number: Column
    amount: Column

    @classmethod
    def of(cls, kinds: int, kind: Column, amount: Column | None = None) -> CountSpec:
        """`kind` is a number in the order of the kinds. A row without a partition counts for number -1."""
        number = F.col("_partition").cast("bigint") * kinds + kind
        # Must not be pushed down: there it would be evaluated again for each use of the same columns.
        once = F.coalesce(F.when(evaluated_once(), number), F.lit(_NO_PARTITION))
        return cls(once, F.coalesce((F.lit(0) if amount is None else amount).cast("bigint"), F.lit(0)))
