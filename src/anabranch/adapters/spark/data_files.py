"""Data files that are written into a table's folder and belong to no snapshot yet.

Written by Iceberg's own writer, as a rewrite of files is: Spark gives the files back instead of committing them, and
whoever asked for them commits them together with what was learned while they were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.spark.target_table import spark_name


@dataclass(frozen=True)
class DataFiles:
    """Either committed or dropped, by whoever has them."""

    table: Any
    """Iceberg's own, in the JVM."""
    files: tuple[Any, ...]

    @property
    def rows(self) -> int:
        """By what their writers counted."""
        return sum(file.recordCount() for file in self.files)

    def commit(self, branch: str, properties: Mapping[str, str]) -> None:
        """All of them, in one commit on top of whatever the branch has by then."""
        self.table.refresh()
        append = self.table.newFastAppend().toBranch(branch)
        for file in self.files:
            append.appendFile(file)
        for name, value in properties.items():
            append.set(name, value)
        append.commit()

    def drop(self) -> None:
        """They are nobody's, and not to be left behind."""
        for file in self.files:
            self.table.io().deleteFile(file.location())


class PlannedFiles:
    """Rows on their way into files of a table, by its columns, partitions and settings: planned, and not begun.

    Rows of one partition of the table come together in one task before they are written, if the table does not say
    otherwise: few large files take less time to write than many small ones, and nobody has to compact them.
    """

    def __init__(self, rows: DataFrame, catalog: IcebergCatalog, table: str) -> None:
        self._spark, self._table, self._written = rows.sparkSession, spark_name(catalog, table), str(uuid4())
        jvm: Any = self._spark._jvm
        self._jvm = jvm
        # Fanout keeps a file open for each partition that a task meets, instead of sorting by partition first.
        options = {"fanout-enabled": "true", "rewritten-file-scan-task-set-id": self._written}
        self._append = jvm.anabranch.PlannedAppend(rows._jdf, self._table, options)

    def write(self) -> DataFiles:
        """Once."""
        self._append.run()
        tables, coordinators = (f"org.apache.iceberg.spark.{name}" for name in ("Spark3Util", "FileRewriteCoordinator"))
        found = getattr(self._jvm, tables).loadIcebergTable(self._spark._jsparkSession, self._table)
        coordinator = getattr(self._jvm, coordinators).get()
        try:
            # As an array: the end of a Java iterator is an error here, which PySpark takes 30 ms to look at.
            return DataFiles(found, tuple(coordinator.fetchNewFiles(found, self._written).toArray()))
        finally:
            coordinator.clearRewrite(found, self._written)
