"""Creates a database of the catalog if it does not exist, also if another process creates it at the same time."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from anabranch.adapters.iceberg.catalog import IcebergCatalog


def ensure_namespace(spark: SparkSession, catalog: IcebergCatalog, database: str) -> None:
    """A catalog checks, then creates: of two pipelines that start at the same time, one would fail."""
    name = f"`{catalog.name}`.`{database}`"
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}")
    except (Py4JError, PySparkException):
        if not spark.catalog.databaseExists(name):
            raise
