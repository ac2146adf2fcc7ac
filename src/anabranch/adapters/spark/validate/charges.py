"""Compares production, the control and the corrected rows by key, and attributes each difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from anabranch.adapters.spark.validate.rows import forms, hashes, read_shown, shown
from anabranch.adapters.spark.validate.sides import measure_base
from anabranch.adapters.spark.validate.tables import TableReader, find
from anabranch.runs.heads import Head
from anabranch.validate.attribution import Attribution, ControlStaging, DiffAttribution
from anabranch.validate.measures import SAMPLE, Difference

PRODUCTION, CONTROL, FIXED = "production", "control", "fixed"
_WHOLE = "decimal(38,0)"
"""A decimal in which sums of hashes can't overflow."""


def measure_charges(table: TableReader, base: Head, control: ControlStaging, keys: Sequence[str]) -> DiffAttribution:
    sides = {
        name: table.rows(snapshot)
        for name, snapshot in ((PRODUCTION, base), (CONTROL, control.snapshot), (FIXED, control.staged))
    }
    paired = bool(keys) and all(find(key, frame.columns) is not None for key in keys for frame in sides.values())
    grouped = {name: _grouped(frame, keys if paired else ()) for name, frame in sides.items()}
    with _differing(table, grouped, paired=paired) as differing:
        counts = differing.groupBy("bucket").agg(*(sf.sum(name).alias(name) for name in ("fix", "noise", "both")))
        return DiffAttribution(
            measure_base(table, control.snapshot),
            control.accounts,
            paired,
            {row["bucket"]: Attribution(row["fix"], row["noise"], row["both"]) for row in counts.collect()},
            _sample(differing.where("fix > 0"), grouped, CONTROL, FIXED, paired=paired),
            _sample(differing.where("noise > 0"), grouped, PRODUCTION, CONTROL, paired=paired),
        )


def _grouped(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows with the columns by which they are compared: the keys, or all."""
    first, second = hashes(frame.schema)
    fields = [next(field for field in frame.schema if field.name.lower() == key.lower()) for key in keys]
    group = sf.struct(*forms(fields)) if fields else sf.struct(first.alias("first"), second.alias("second"))
    return frame.select("*", group.alias("_group"), first.alias("_first"), second.alias("_second"))


@contextmanager
def _differing(table: TableReader, grouped: Mapping[str, DataFrame], *, paired: bool) -> Iterator[DataFrame]:
    """Every key or row that is not equal on all three sides, with its counts of fix and noise."""
    one = None
    for name, frame in grouped.items():
        side = frame.select("_group", "_first", "_second", table.bucket().alias("_bucket"), sf.lit(name).alias("_side"))
        one = side if one is None else one.union(side)
    if one is None:
        raise AssertionError("there are three sides")
    known = one.groupBy("_group").agg(*(each for name in grouped for each in _of_side(name)))
    moved, changed = _differ(PRODUCTION, CONTROL), _differ(CONTROL, FIXED)
    nothing = sf.lit(0)
    moves, changes = (
        sf.lit(1) if paired else sf.abs(sf.col(f"{a}_rows") - sf.col(f"{b}_rows"))
        for a, b in ((PRODUCTION, CONTROL), (CONTROL, FIXED))
    )
    # The bucket of the control's row, with which both others are compared.
    bucket = sf.coalesce(*(sf.col(f"{name}_bucket") for name in (CONTROL, PRODUCTION, FIXED)))
    charged = known.where(moved | changed).select(
        "_group",
        bucket.alias("bucket"),
        *(f"{name}_rows" for name in grouped),
        sf.when(~moved & changed, changes).otherwise(nothing).alias("fix"),
        sf.when(moved, moves).otherwise(nothing).alias("noise"),
        sf.when(moved & changed, changes).otherwise(nothing).alias("both"),
    )
    cached = charged.persist()
    try:
        yield cached
    finally:
        cached.unpersist()


def _of_side(name: str) -> list[Column]:
    """A side's number of rows and sums of hashes, which identify its multiset of rows as in the checksums."""
    here = sf.col("_side") == name
    first, second = (sf.sum(sf.when(here, sf.col(each).cast(_WHOLE))) for each in ("_first", "_second"))
    return [
        sf.count_if(here).alias(f"{name}_rows"),
        first.alias(f"{name}_first"),
        second.alias(f"{name}_second"),
        sf.min(sf.when(here, sf.col("_bucket"))).alias(f"{name}_bucket"),
    ]


def _differ(one: str, other: str) -> Column:
    """A side without rows has no sums; two such sides are equal."""
    same = [sf.col(f"{one}_{what}").eqNullSafe(sf.col(f"{other}_{what}")) for what in ("rows", "first", "second")]
    return ~(same[0] & same[1] & same[2])


def _sample(
    differing: DataFrame, grouped: Mapping[str, DataFrame], before: str, after: str, *, paired: bool
) -> tuple[Difference, ...]:
    """A sample with rows. Without keys, a row is shown on the side that has more of it."""
    some = differing.orderBy("_group").limit(SAMPLE)
    both = some
    for name in (before, after):
        rows = grouped[name].select("_group", shown(_plain(grouped[name]).schema).alias("_row"))
        there = rows.join(sf.broadcast(some.select("_group")), "_group").groupBy("_group")
        both = both.join(there.agg(sf.min("_row").alias(f"{name}_row")), "_group", "left")
    sample = []
    for row in both.orderBy("_group").collect():
        more = row[f"{before}_rows"] - row[f"{after}_rows"]
        sample.append(
            Difference(
                _read(row[f"{before}_row"]) if paired or more > 0 else None,
                _read(row[f"{after}_row"]) if paired or more < 0 else None,
            )
        )
    return tuple(sample)


def _plain(frame: DataFrame) -> DataFrame:
    return frame.drop("_group", "_first", "_second")


def _read(text: str | None) -> dict[str, object] | None:
    return None if text is None else dict(read_shown([text])[0])
