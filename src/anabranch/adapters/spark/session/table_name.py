"""The name of a table of a catalog as Spark's SQL takes it."""

from __future__ import annotations

from anabranch.adapters.iceberg.catalog import IcebergCatalog


def spark_name(catalog: IcebergCatalog, table: str) -> str:
    database, name = table.split(".")
    return f"`{catalog.name}`.`{database}`.`{name}`"
