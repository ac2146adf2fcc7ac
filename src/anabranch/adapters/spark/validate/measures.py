"""Measures staging and the base on Spark: all measurements that the checks need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from anabranch.adapters.iceberg import properties
from anabranch.adapters.spark.validate.charges import measure_charges
from anabranch.adapters.spark.validate.keys import measure_duplicates
from anabranch.adapters.spark.validate.quarantine import measure_quarantined
from anabranch.adapters.spark.validate.queries import run_queries
from anabranch.adapters.spark.validate.sides import differences, measure_base, measure_staged
from anabranch.adapters.spark.validate.spots import measure_spots
from anabranch.adapters.spark.validate.strays import measure_strays
from anabranch.adapters.spark.validate.tables import TableReader, own_session
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.runs.heads import Head
from anabranch.validate.attribution import ControlStaging
from anabranch.validate.checks.checksums import changed_buckets
from anabranch.validate.measures import Measures


def measure(
    spark: SparkSession,
    catalog_name: str,
    table: str,
    plan: Plan,
    staging_snapshot: Head,
    contract: Backfill,
    pipeline: Pipeline,
    project_folder: Path,
    *,
    schema: str,
    control: ControlStaging | None = None,
    phase: Callable[[str], None] = lambda _: None,
) -> Measures:
    """Measure the staging snapshot and the plan's base. Read-only; the result depends only on these snapshots.

    `schema` is the digest of the table's current columns, made like the plan's. `phase` is called with the name of each
    measurement.
    """
    own = own_session(spark, catalog_name)
    reader = TableReader(own, catalog_name, table, plan.target.partitions)
    base_snapshot = plan.target.base
    compared = () if control is None else (control.snapshot, control.staged)
    for snapshot in (base_snapshot, staging_snapshot, *compared):
        reader.require(snapshot)
    validation, keys = contract.spec.validation, pipeline.spec.target.keys or ()
    required = [column.name for column in reader.columns() if column.required]
    columns = dict.fromkeys((*(validation.not_null or ()), *required))
    phase("validating: measuring the base")
    base = measure_base(reader, base_snapshot)
    phase("validating: measuring staging")
    staged, nulls = measure_staged(reader, staging_snapshot, tuple(columns))
    rows = reader.rows(staging_snapshot)
    views = {"staged": rows, "base": reader.rows(base_snapshot), "production": own.table(reader.name)}
    if control is not None:
        views["control"] = reader.rows(control.snapshot)
    changed = changed_buckets(base, staged)
    phase(f"validating: comparing rows in {len(changed):,} buckets that differ")
    compared_rows = differences(reader, base_snapshot, staging_snapshot, changed, keys)
    phase("validating: files outside the range, keys, known records")
    strays = measure_strays(reader, base_snapshot, staging_snapshot)
    duplicates = measure_duplicates(rows, keys) if keys else None
    spots = None
    if validation.known_records is not None:
        spots = measure_spots(own, rows, project_folder, validation.known_records, keys)
    phase(f"validating: {len(validation.queries or ())} SQL checks, quarantine")
    queries = run_queries(own, views, validation.queries, project_folder)
    quarantined = measure_quarantined(reader, reader.summary(staging_snapshot, properties.RUN))
    charges = None
    if control is not None:
        phase("validating: comparing with the control")
        charges = measure_charges(reader, base_snapshot, control, keys)
    return Measures(
        base=base,
        staged=staged,
        head=reader.columns(),
        schema=schema,
        differences=compared_rows,
        nulls=nulls,
        strays=strays,
        duplicates=duplicates,
        spots=spots,
        queries=queries,
        quarantined=quarantined,
        charges=charges,
    )
