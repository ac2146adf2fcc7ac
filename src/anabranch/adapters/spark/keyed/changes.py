"""The changes of a batch or slice in a keyed table: each key's last row, or its deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from anabranch.adapters.spark.decode.decode import BYTES, RAW, REASON, TOMBSTONE, events_of
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.transform.output_rows import COORDINATES, align, fit
from anabranch.contract.pipeline import PipelineSpec
from anabranch.errors import AnabranchError, ExitCode

DELETED = "_deleted"
"""Whether the key is deleted."""
LAST = "_last"
"""Whether it is the last change of its key in the batch or slice."""
_ALL = "_all"
_SAFE = "No row of this batch or slice was written."


class KeySplitError(AnabranchError):
    code = "keyed.key-in-two-partitions"
    exit_code = ExitCode.REFUSED


class KeyTwiceError(AnabranchError):
    code = "keyed.key-twice"
    exit_code = ExitCode.REFUSED


class StrangeKeyError(AnabranchError):
    code = "keyed.strange-key"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class Fates:
    """The fates of the events of one partition."""

    output: int
    filtered: int
    superseded: int


@dataclass(frozen=True)
class KeyedChanges:
    """Changes of one pipeline of class upsert or ordered."""

    spec: PipelineSpec
    transform: LoadedTransform
    columns: StructType
    """The target's."""

    @property
    def keys(self) -> list[str]:
        names = {field.name.lower(): field.name for field in self.columns.fields}
        return [names[key.lower()] for key in self.spec.target.keys or ()]

    @property
    def _folds(self) -> bool:
        return self.spec.pipeline_class == "ordered"

    def of(self, decoded: DataFrame, state: DataFrame) -> DataFrame:
        """The target's columns, the coordinates of the event, DELETED and LAST. `state` is the current table."""
        return self._folded(decoded, state) if self._folds else self._last_of_each_key(decoded)

    def fates(self, read: Mapping[str, int], changes: Mapping[str, int]) -> Fates:
        """The account of a partition, from its records read and its `change_counts`."""
        deleting = read.get("tombstones", 0) if self.spec.source.key is not None else 0
        ignored = read.get("tombstones", 0) - deleting
        output, events = changes.get("output", 0), read.get("in_range", 0) + deleting
        given = events if self._folds else changes.get("events", 0)
        return Fates(output, events - given + ignored, given - output)

    def _last_of_each_key(self, decoded: DataFrame) -> DataFrame:
        rows = align(self.transform(events_of(decoded)), self.columns, keep=tuple(COORDINATES))
        every = rows.withColumn(DELETED, F.lit(False))
        if self.spec.source.key is not None:
            every = every.unionByName(self._deletions(decoded))
        by_key = Window.partitionBy(*(_named(key) for key in self.keys))
        return every.select(
            "*",
            (F.col("_offset") == F.max("_offset").over(by_key)).alias(LAST),
            (F.min("_partition").over(by_key) != F.max("_partition").over(by_key)).alias("_split"),
            (F.count("*").over(Window.partitionBy(*map(_named, self.keys), "_offset")) > 1).alias("_twice"),
        )

    def _deletions(self, decoded: DataFrame) -> DataFrame:
        """Tombstones need no transform: a deletion consists of the row's key, which is the record's key."""
        key = self.keys[0]
        columns = [
            (_named(key) if field.name == key else F.lit(None)).cast(field.dataType).alias(field.name)
            for field in self.columns.fields
        ]
        gone = decoded.where(F.col(REASON).isNull() & F.col(TOMBSTONE))
        return gone.select(*columns, *COORDINATES, F.lit(True).alias(DELETED))

    def _folded(self, decoded: DataFrame, state: DataFrame) -> DataFrame:
        counted = F.col(REASON).isNull() & (F.lit(self.spec.source.key is not None) | ~F.col(TOMBSTONE))
        events = decoded.where(counted).drop(REASON, RAW, BYTES)
        keys = [_named(key) for key in self.keys]
        hand = events.groupBy(*(key.alias(name) for key, name in zip(keys, self.keys, strict=True))).agg(
            F.max_by("_partition", "_offset").alias("_partition"),
            F.max("_offset").alias("_offset"),
            (F.min("_partition") != F.max("_partition")).alias("_split"),
        )
        mine = state.alias("s").join(hand.alias("h"), self._same("s", "h"), "left_semi")
        ordered = events.repartition(*keys).sortWithinPartitions(*keys, "_offset")
        rows = fit(self.transform(ordered, mine), self.columns).withColumn(_ALL, F.lit(True))
        both = hand.alias("h").join(rows.alias("r"), self._same("h", "r"), "full")
        columns = [
            (
                F.coalesce(F.col(f"r.`{f.name}`"), F.col(f"h.`{f.name}`"))
                if f.name in self.keys
                else F.col(f"r.`{f.name}`")
            )
            .cast(f.dataType)
            .alias(f.name)
            for f in self.columns.fields
        ]
        twice = F.count(f"r.{_ALL}").over(Window.partitionBy(*(F.col(f"r.`{key}`") for key in self.keys))) > 1
        return both.select(
            *columns,
            F.col("h._partition").alias("_partition"),
            F.col("h._offset").alias("_offset"),
            F.col(f"r.{_ALL}").isNull().alias(DELETED),
            F.lit(True).alias(LAST),
            F.coalesce(F.col("h._split"), F.lit(False)).alias("_split"),
            (F.col(f"r.{_ALL}").isNotNull() & twice).alias("_twice"),
        )

    def _same(self, one: str, other: str) -> Column:
        return reduce(and_, (F.col(f"{one}.`{key}`").eqNullSafe(F.col(f"{other}.`{key}`")) for key in self.keys))

    def require_sound(self, changes: DataFrame) -> None:
        """Raise if the row of a key is undefined: KeySplitError, KeyTwiceError, StrangeKeyError."""
        wrong = changes.where(F.col("_split") | F.col("_twice") | F.col("_partition").isNull())
        unsound = wrong.select(*map(_named, self.keys), *COORDINATES, "_split", "_twice").first()
        if unsound is None:
            return
        key = ", ".join(f"{name} {unsound[name]!r}" for name in self.keys)
        if unsound["_partition"] is None:
            raise StrangeKeyError(
                f"The transform returned a row for {key}, but none of its input events has this key.",
                state=_SAFE,
                hint="return rows only for keys of the input events",
            )
        if unsound["_split"]:
            raise KeySplitError(
                f"Events of {key} are in more than one partition of the topic; order across partitions is undefined.",
                state=_SAFE,
                hint="set the record key in the producer, so that all events of one key go to one partition",
                partition=unsound["_partition"],
                offset=unsound["_offset"],
            )
        raise KeyTwiceError(
            f"The transform returned more than one row for {key} (partition {unsound['_partition']}, offset "
            f"{unsound['_offset']}).",
            state=_SAFE,
            hint="return one row per key, or add a column to target.keys that distinguishes the rows",
        )


def change_counts(changes: DataFrame) -> dict[int, dict[str, int]]:
    """By partition: events with rows, events whose rows are the last of their key, rows and deletions."""
    counts = changes.groupBy("_partition").agg(
        F.count_distinct("_offset").alias("events"),
        F.count_distinct(F.when(F.col(LAST), F.col("_offset"))).alias("output"),
        F.count_if(F.col(LAST)).alias("rows"),
    )
    return {row["_partition"]: row.asDict() for row in counts.collect()}


def _named(name: str) -> Column:
    return F.col(f"`{name}`")
