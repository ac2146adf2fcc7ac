"""Counts records by partition and kind while they pass by on their way to a sink, with no pass of their own."""

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
_OF_NO_PARTITION = -1


class RecordCounter:
    """How many rows of each kind a frame has in each partition, known once a job has been over all of it.

    Each row is counted by a function inside Spark's generated code. Spark's own way to count on the way (`observe`) is
    not part of that: every row would be copied before it and after it.
    """

    def __init__(self, spark: SparkSession, partitions: Sequence[int], kinds: Sequence[str]) -> None:
        self._partitions = sorted(partitions)
        self._kinds = list(kinds)
        jvm: Any = spark._jvm
        self._found = jvm.anabranch.Tally.begun(spark._jsc.sc())

    def instead_of(self, other: RecordCounter) -> tuple[str, Any]:
        """The other one's id, and who counts in its place."""
        return str(other._found.id()), self._found

    def on(self, frame: DataFrame, asked: CountSpec) -> DataFrame:
        """The same frame, counted when it is computed."""
        counted = function("counted", str(self._found.id()), given=(F.col(_NUMBER), asked.amount))
        return frame.withColumn(_NUMBER, asked.number).where(counted).drop(_NUMBER)

    @property
    def amount(self) -> int:
        """The sum of what was asked for with each row."""
        return int(self._found.amount())

    @cached_property
    def counts(self) -> dict[int, dict[str, int]]:
        """By partition and kind, those that are zero too. A partition that nobody asked for is there if it was met."""
        found = {partition: dict.fromkeys(self._kinds, 0) for partition in self._partitions}
        for each in self._found.counts().split():
            number, count = each.split("=")
            partition, kind = divmod(int(number), len(self._kinds))
            found.setdefault(partition, dict.fromkeys(self._kinds, 0))[self._kinds[kind]] += int(count)
        return found

    @property
    def counted(self) -> int:
        """All of `counts` together."""
        return sum(sum(each.values()) for each in self.counts.values())


@dataclass(frozen=True)
class CountSpec:
    """What a tally asks for. Good for every frame with the same columns: putting it together takes some hundred calls
    to the JVM."""

    number: Column
    amount: Column

    @classmethod
    def of(cls, kinds: int, kind: Column, amount: Column | None = None) -> CountSpec:
        """`kind` is a number in the order of the kinds. A row that says no partition is of one that nobody has."""
        number = F.col("_partition").cast("bigint") * kinds + kind
        # Worked out once, and where it stands: below, it would be another time for what else needs the same columns.
        once = F.coalesce(F.when(evaluated_once(), number), F.lit(_OF_NO_PARTITION))
        return cls(once, F.coalesce((F.lit(0) if amount is None else amount).cast("bigint"), F.lit(0)))
