"""Keys that more than one staged row has."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from anabranch.adapters.spark.validate.rows import forms, named, sample
from anabranch.adapters.spark.validate.tables import find
from anabranch.validate.measures import SAMPLE, Duplicates


def measure_duplicates(staged: DataFrame, keys: Sequence[str]) -> Duplicates:
    """Nulls count as equal: two rows with null keys are duplicates."""
    unknown = tuple(key for key in keys if find(key, staged.columns) is None)
    if unknown:
        return Duplicates(tuple(keys), unknown)
    fields = [next(field for field in staged.schema if field.name.lower() == key.lower()) for key in keys]
    shown_keys = [sf.first(named(field.name)).alias(field.name) for field in fields]
    twice = (
        staged.select(sf.struct(*forms(fields)).alias("_key"), *(named(field.name) for field in fields))
        .groupBy("_key")
        .agg(*shown_keys, sf.count("*").alias("rows"))
        .where(sf.col("rows") > 1)
    )
    rows = sample(twice.orderBy(sf.desc("rows"), "_key").drop("_key"), SAMPLE)
    return Duplicates(tuple(keys), count=twice.count() if len(rows) == SAMPLE else len(rows), sample=rows)
