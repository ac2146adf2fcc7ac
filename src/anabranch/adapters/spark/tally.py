"""Counts records by partition and kind while they pass by on their way to a sink, with no pass of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

_NUMBER, _NUMBERS = "_number", "numbers"
_BIN = re.compile(r"\[(-?\d+),([^\]]+)\]")
_BINS_PER_NUMBER = 4
"""Tasks bring their bins together before equal ones are joined, so that there is need for more than one of a number."""


class Tally:
    """How many rows of each kind a frame has in each partition, known once a job has been over all of it.

    A histogram with as many bins as there are different numbers gives each number a bin of its own: it is exact, and
    takes the same time for one partition as for a thousand. The sum `all` is counted apart, for whoever doubts it.
    """

    def __init__(self, partitions: Sequence[int], kinds: Sequence[str]) -> None:
        self._partitions = sorted(partitions)
        self._kinds = list(kinds)
        self._seen = Observation()

    def on(self, frame: DataFrame, asked: Questions) -> DataFrame:
        """The same frame, counted when it is computed."""
        numbered = frame.withColumn(_NUMBER, asked.number)  # in generated code, which a question itself is not part of
        return numbered.observe(self._seen, asked.counted, *asked.sums).drop(_NUMBER)

    def sum(self, name: str) -> int:
        return int(self._found.get(name) or 0)

    @cached_property
    def counts(self) -> dict[int, dict[str, int]]:
        """By partition and kind, those that are zero too. A partition that nobody asked for is there if it was met."""
        found = {partition: dict.fromkeys(self._kinds, 0) for partition in self._partitions}
        for number, count in self._numbers():
            partition, kind = divmod(number, len(self._kinds))
            found.setdefault(partition, dict.fromkeys(self._kinds, 0))[self._kinds[kind]] += count
        return found

    @property
    def counted(self) -> int:
        """All of `counts` together."""
        return sum(sum(each.values()) for each in self.counts.values())

    @cached_property
    def _found(self) -> Any:
        """A Java map, asked by name: PySpark would go through it, and take 30 ms to find out that it ends."""
        if self._seen._jo is None:
            raise AssertionError("nothing is counted yet")
        return self._seen._jo.getAsJava()

    def _numbers(self) -> list[tuple[int, int]]:
        """Each number and how often it was met. As one text, since every look into the JVM takes its time."""
        bins = self._found.get(_NUMBERS)
        pairs = _BIN.findall("" if bins is None else bins.mkString())
        return [(int(number), round(float(count))) for number, count in pairs]


@dataclass(frozen=True)
class Questions:
    """What a tally asks for. Good for every frame with the same columns: putting it together takes some hundred calls
    to the JVM."""

    number: Column
    counted: Column
    sums: tuple[Column, ...]

    @classmethod
    def of(cls, partitions: int, kinds: int, kind: Column, **sums: Column) -> Questions:
        """For so many partitions. `kind` is a number in the order of the kinds."""
        number = F.col("_partition").cast("bigint") * kinds + kind
        counted = F.histogram_numeric(F.col(_NUMBER), F.lit(partitions * kinds * _BINS_PER_NUMBER)).alias(_NUMBERS)
        summed = (F.sum(column).alias(name) for name, column in sums.items())
        return cls(number, counted, (F.count("*").alias("all"), *summed))
