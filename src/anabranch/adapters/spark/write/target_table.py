"""The target table in Spark: its columns, and its creation."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.partitioning import partitioning_of, require_partitioning
from anabranch.adapters.spark.decode.decode import decode, events_of
from anabranch.adapters.spark.keyed.changes import KeyedChanges
from anabranch.adapters.spark.session.namespaces import ensure_namespace
from anabranch.adapters.spark.session.table_name import spark_name as spark_name
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.transform.output_rows import (
    WINDOW_START,
    align,
    origin_of,
    own_columns,
    require_keys,
    require_origin,
)
from anabranch.adapters.spark.write.clustering import TABLE_PROPERTY
from anabranch.adapters.spark.write.partitioning import partition_clause
from anabranch.contract.columns import ddl
from anabranch.contract.partitioning import Density, PartitionField, PartitionFields, default_unit, fields_of
from anabranch.contract.pipeline import KEYED, Pipeline, PipelineSpec

KAFKA_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key:string,value:binary>>"
)

PROPERTIES = {
    "format-version": "2",
    # One writer per hour and batch: few files per hour and batch instead of one per Kafka partition.
    # Promotion and rollback move files, so their time grows with the number of files; the shuffle costs less.
    "write.distribution-mode": "hash",
    **TABLE_PROPERTY,
    # Live, promotions and compaction commit concurrently. An append is safe to retry.
    "commit.retry.num-retries": "20",
    # Live commits often; without this every commit would leave a metadata file.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}


def empty_events(spark: SparkSession, spec: PipelineSpec) -> DataFrame:
    """An empty DataFrame with the columns that a transform sees."""
    return events_of(decode(spark.createDataFrame([], KAFKA_COLUMNS), spec))


def ensure_target(
    spark: SparkSession,
    catalog: IcebergCatalog,
    pipeline: Pipeline,
    transform: LoadedTransform,
    density: Callable[[], Density | None] = lambda: None,
) -> StructType:
    """The target's columns, which the transform's output must fit; creates a missing table from the output.

    Called before the first record is read, so that a transform that does not fit costs nothing. `density` is called
    only for a table that is created and whose pipeline names no partitioning. Raises for a table whose
    partitioning differs from the pipeline's.
    """
    name = spark_name(catalog, pipeline.spec.target.table)
    if pipeline.spec.pipeline_class in KEYED:
        return _ensure_keyed(spark, catalog, pipeline, transform)
    rows = transform(empty_events(spark, pipeline.spec))
    if not spark.catalog.tableExists(name):
        _create(spark, catalog, pipeline, rows, density)
    _require_partitioning(catalog, pipeline.spec)
    columns = spark.table(name).schema
    align(rows, columns, origin=origin_of(pipeline.spec))
    return columns


def _create(
    spark: SparkSession,
    catalog: IcebergCatalog,
    pipeline: Pipeline,
    rows: DataFrame,
    density: Callable[[], Density | None],
) -> None:
    spec = pipeline.spec
    require_origin(rows, origin_of(spec))
    fields = _asked(spec)
    if not fields:
        known = density() if spec.window is None or spec.window.size is None else None
        fields = (PartitionField(default_unit(spec.window, known), None),)
    columns = own_columns(rows)
    event_time = spec.event_time.field if spec.window is None else WINDOW_START
    _make(spark, catalog, pipeline, columns, partition_clause(columns, fields, event_time))


def _asked(spec: PipelineSpec) -> PartitionFields:
    return () if spec.target.partition_by is None else fields_of(spec.target.partition_by)


def _require_partitioning(catalog: IcebergCatalog, spec: PipelineSpec) -> None:
    if spec.target.partition_by is not None:
        require_partitioning(catalog.open().load_table(spec.target.table), spec)


def _ensure_keyed(
    spark: SparkSession, catalog: IcebergCatalog, pipeline: Pipeline, transform: LoadedTransform
) -> StructType:
    """A new table is partitioned only if declared: rows are merged by key, and a backfill replaces all."""
    spec = pipeline.spec
    name = spark_name(catalog, spec.target.table)
    events = decode(spark.createDataFrame([], KAFKA_COLUMNS), spec)
    if not spark.catalog.tableExists(name):
        declared = None if spec.target.columns is None else StructType.fromDDL(ddl(spec.target.columns))
        columns = declared if isinstance(declared, StructType) else own_columns(transform(events_of(events)))
        _make(spark, catalog, pipeline, columns, partition_clause(columns, _asked(spec), spec.event_time.field))
    _require_partitioning(catalog, spec)
    _bound_open_files(spark, catalog, spec)
    table = spark.table(name)
    require_keys(table.schema, spec.target.keys or ())
    KeyedChanges(spec, transform, table.schema).of(events, table)
    return table.schema


def _bound_open_files(spark: SparkSession, catalog: IcebergCatalog, spec: PipelineSpec) -> None:
    """Set the property that bounds a merge's open files on a partitioned table, unless it is set already.

    A merge accepts no write options, so it must be a table property.
    """
    table = catalog.open().load_table(spec.target.table)
    missing = {name: value for name, value in TABLE_PROPERTY.items() if name not in table.properties}
    if missing and partitioning_of(table):
        properties = ", ".join(f"'{name}'='{value}'" for name, value in missing.items())
        spark.sql(f"ALTER TABLE {spark_name(catalog, spec.target.table)} SET TBLPROPERTIES ({properties})")


def _make(spark: SparkSession, catalog: IcebergCatalog, pipeline: Pipeline, columns: StructType, by: str) -> None:
    written = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in columns.fields)
    properties = ", ".join(f"'{key}'='{value}'" for key, value in PROPERTIES.items())
    database = pipeline.spec.target.table.split(".")[0]
    ensure_namespace(spark, catalog, database)
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {spark_name(catalog, pipeline.spec.target.table)} ({written}) USING iceberg "
        f"{by} TBLPROPERTIES ({properties})"
    )
