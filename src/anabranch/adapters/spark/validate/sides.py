"""Counts, checksums and nulls of the range, in one pass over each side; and rows in which the sides differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from anabranch.adapters.spark.validate.rows import forms, hashes, joined, named, read_shown, sample, shown, sums
from anabranch.adapters.spark.validate.tables import TableReader, find
from anabranch.runs.heads import Head
from anabranch.validate.measures import SAMPLE, Checksum, Difference, Differences, Nulls, Side

BUCKETS_SAMPLED = 3
"""Number of changed buckets in which rows are compared; more would read the whole range again for a sample."""


def measure_base(table: TableReader, snapshot: Head) -> Side:
    side, _ = _pass(table, snapshot, ())
    return side


def measure_staged(table: TableReader, snapshot: Head, not_null: Collection[str]) -> tuple[Side, Nulls]:
    """`not_null` are the columns that may have no nulls, by the contract or by the table."""
    frame = table.rows(snapshot)
    known = {name: column for name in not_null if (column := find(name, frame.columns)) is not None}
    side, counts = _pass(table, snapshot, tuple(known.values()))
    nulls = dict(zip(known, counts, strict=True))
    missing = [named(known[name]).isNull() for name, count in nulls.items() if count]
    rows = sample(frame.where(reduce(or_, missing)), SAMPLE) if missing else ()
    return side, Nulls(nulls, tuple(name for name in not_null if name not in known), rows)


def _pass(table: TableReader, snapshot: Head, columns: Sequence[str]) -> tuple[Side, list[int]]:
    frame = table.rows(snapshot)
    first, second = hashes(frame.schema)
    nulls = [sf.count_if(named(column).isNull()).alias(f"null_{i}") for i, column in enumerate(columns)]
    counted = (
        frame.select("*", table.bucket().alias("_bucket"), first.alias("_first"), second.alias("_second"))
        .groupBy("_bucket")
        .agg(sf.count("*").alias("rows"), *sums(sf.col("_first"), "first"), *sums(sf.col("_second"), "second"), *nulls)
        .collect()
    )
    buckets = {
        row["_bucket"]: Checksum(
            row["rows"], joined(row["first_high"], row["first_low"]), joined(row["second_high"], row["second_low"])
        )
        for row in counted
    }
    missing = [sum(row[f"null_{i}"] for row in counted) for i in range(len(columns))]
    return Side(snapshot, table.columns(snapshot), buckets), missing


def differences(
    table: TableReader, base: Head, staged: Head, changed: Sequence[int], keys: Sequence[str]
) -> Differences:
    """A sample of differences: by key if there are keys, otherwise rows that are on one side only."""
    some = tuple(sorted({changed[0], changed[len(changed) // 2], changed[-1]})) if changed else ()
    before, after = (_in_buckets(table, snapshot, some) for snapshot in (base, staged))
    by = [[find(key, frame.columns) for key in keys] for frame in (before, after)]
    paired = bool(keys) and all(None not in columns for columns in by)
    if not some:
        return Differences(paired)
    rows = _pairs(before, after, keys) if paired else _one_sided(before, after)
    return Differences(paired, some, rows)


def _in_buckets(table: TableReader, snapshot: Head, buckets: Sequence[int]) -> DataFrame:
    frame = table.rows(snapshot)
    return frame.where(reduce(or_, (table.within(frame, b, b + 1) for b in buckets), sf.lit(False)))


def _pairs(before: DataFrame, after: DataFrame, keys: Sequence[str]) -> tuple[Difference, ...]:
    left, right = (_keyed(frame, keys) for frame in (before, after))
    differing = (
        left.alias("l")
        .join(right.alias("r"), sf.col("l.key") == sf.col("r.key"), "full")
        .where(~sf.col("l.hash").eqNullSafe(sf.col("r.hash")))
        .orderBy(sf.coalesce("l.key", "r.key"))
        .select(sf.col("l.row").alias("before"), sf.col("r.row").alias("after"))
        .limit(SAMPLE)
    )
    return tuple(Difference(*(_read(text) for text in row)) for row in differing.collect())


def _keyed(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    fields = [next(field for field in frame.schema if field.name.lower() == key.lower()) for key in keys]
    return frame.select(
        sf.struct(*forms(fields)).alias("key"),
        sf.struct(*hashes(frame.schema)).alias("hash"),
        shown(frame.schema).alias("row"),
    )


def _one_sided(before: DataFrame, after: DataFrame) -> tuple[Difference, ...]:
    left, right = (_by_hash(frame) for frame in (before, after))
    both = left.alias("l").join(right.alias("r"), sf.col("l.hash") == sf.col("r.hash"), "full")
    more = sf.coalesce("l.times", sf.lit(0)) - sf.coalesce("r.times", sf.lit(0))
    gone = _texts(both.where(more > 0).select("l.row"))
    new = _texts(both.where(more < 0).select("r.row"))
    return (*(Difference(_read(text), None) for text in gone), *(Difference(None, _read(text)) for text in new))


def _by_hash(frame: DataFrame) -> DataFrame:
    rows = frame.select(sf.struct(*hashes(frame.schema)).alias("hash"), shown(frame.schema).alias("row"))
    return rows.groupBy("hash").agg(sf.count("*").alias("times"), sf.min("row").alias("row"))


def _texts(frame: DataFrame) -> list[str]:
    return [row["row"] for row in frame.orderBy("row").limit(SAMPLE).collect()]


def _read(text: str | None) -> dict[str, object] | None:
    return None if text is None else dict(read_shown([text])[0])
