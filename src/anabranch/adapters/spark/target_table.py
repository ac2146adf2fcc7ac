"""The target table as Spark sees it: its columns, and its making when it is not there yet."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.spark.decode import decode, events_of
from anabranch.adapters.spark.keyed import KeyedChanges
from anabranch.adapters.spark.namespaces import ensure_namespace
from anabranch.adapters.spark.rows import (
    WINDOW_START,
    align,
    origin_of,
    own_columns,
    require_keys,
    require_origin,
    time_column,
)
from anabranch.adapters.spark.table_name import spark_name as spark_name
from anabranch.adapters.spark.transform import Transform
from anabranch.contract.columns import ddl
from anabranch.contract.pipeline import KEYED, Pipeline, PipelineSpec

KAFKA_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key:string,value:binary>>"
)

PROPERTIES = {
    "format-version": "2",
    # One writer for each hour and batch: a few files an hour and batch instead of one for every Kafka partition.
    # Promotion and rollback move files, so their time goes with the number of files; the shuffle costs less.
    "write.distribution-mode": "hash",
    # Live, promotions and compaction commit beside each other. An append loses nothing by being tried again.
    "commit.retry.num-retries": "20",
    # Live commits often; without this every commit would leave a metadata file behind for ever.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}


def empty_events(spark: SparkSession, spec: PipelineSpec) -> DataFrame:
    """No events, with the columns that a transform sees."""
    return events_of(decode(spark.createDataFrame([], KAFKA_COLUMNS), spec))


def ensure_target(spark: SparkSession, catalog: IcebergCatalog, pipeline: Pipeline, transform: Transform) -> StructType:
    """The target's columns, which the transform's output must fit; the table is made from the output if missing.

    Asked before the first record is read, so that a transform that does not fit costs nothing.
    """
    name = spark_name(catalog, pipeline.spec.target.table)
    if pipeline.spec.pipeline_class in KEYED:
        return _ensure_keyed(spark, catalog, pipeline, transform)
    rows = transform(empty_events(spark, pipeline.spec))
    if not spark.catalog.tableExists(name):
        _create(spark, catalog, pipeline, rows)
    columns = spark.table(name).schema
    align(rows, columns, origin=origin_of(pipeline.spec))
    return columns


def _create(spark: SparkSession, catalog: IcebergCatalog, pipeline: Pipeline, rows: DataFrame) -> None:
    require_origin(rows, origin_of(pipeline.spec))
    columns = own_columns(rows)
    axis = time_column(columns, pipeline.spec.event_time.field if pipeline.spec.window is None else WINDOW_START)
    _make(spark, catalog, pipeline, columns, f"PARTITIONED BY (hours(`{axis}`))")


def _ensure_keyed(spark: SparkSession, catalog: IcebergCatalog, pipeline: Pipeline, transform: Transform) -> StructType:
    """A new table is not partitioned: its rows are found by key, and replaced as a whole or not at all."""
    spec = pipeline.spec
    name = spark_name(catalog, spec.target.table)
    events = decode(spark.createDataFrame([], KAFKA_COLUMNS), spec)
    if not spark.catalog.tableExists(name):
        declared = None if spec.target.columns is None else StructType.fromDDL(ddl(spec.target.columns))
        columns = declared if isinstance(declared, StructType) else own_columns(transform(events_of(events)))
        _make(spark, catalog, pipeline, columns, "")
    table = spark.table(name)
    require_keys(table.schema, spec.target.keys or ())
    KeyedChanges(spec, transform, table.schema).of(events, table)
    return table.schema


def _make(spark: SparkSession, catalog: IcebergCatalog, pipeline: Pipeline, columns: StructType, by: str) -> None:
    written = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in columns.fields)
    properties = ", ".join(f"'{key}'='{value}'" for key, value in PROPERTIES.items())
    database = pipeline.spec.target.table.split(".")[0]
    ensure_namespace(spark, catalog, database)
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {spark_name(catalog, pipeline.spec.target.table)} ({written}) USING iceberg "
        f"{by} TBLPROPERTIES ({properties})"
    )
