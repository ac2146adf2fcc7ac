"""Data files that are written into a table's folder and belong to no snapshot yet.

Spark gives the files back instead of committing them, and whoever asked for them commits them together with what was
learned while they were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.spark.write.clustering import CLUSTERED, FANOUT
from anabranch.adapters.spark.write.target_table import spark_name


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


class FilesTemplate:
    """Rows on their way into files of a table, by its columns, partitions and settings, whichever offsets they are of.

    Rows of one partition of the table come together in one task before they are written, if the table does not say
    otherwise: few large files take less time to write than many small ones, and nobody has to compact them.
    """

    def __init__(self, rows: DataFrame, catalog: IcebergCatalog, table: str) -> None:
        self._spark, self._table = rows.sparkSession, spark_name(catalog, table)
        jvm: Any = self._spark._jvm
        # Our writer takes rows in any order and bounds its open files by itself; for Iceberg's they are sorted first.
        self._template = jvm.anabranch.AppendTemplate(rows._jdf, self._table, FANOUT)
        if not self._template.boundsOpenFiles():
            self._template = jvm.anabranch.AppendTemplate(rows._jdf, self._table, CLUSTERED)

    @property
    def takes_offsets(self) -> bool:
        """Whether it has one read, that can be given other offsets. By Spark's older interface it has none."""
        return int(self._template.sources()) == 1

    def planned(self, source: Mapping[str, str], tallies: Mapping[str, Any], *, client: str, name: str) -> PlannedFiles:
        """Those of the offsets in `source`, counted by the tallies that stand in for the template's, and not begun.

        What is read passes the client's meter under `name`.
        """
        planned = self._template.planned(dict(source), dict(tallies), client, name)
        return PlannedFiles(self._spark, self._table, planned)


@dataclass(frozen=True)
class PlannedFiles:
    spark: SparkSession
    table: str
    append: Any

    def write(self) -> DataFiles:
        """Once."""
        files = tuple(self.append.run())
        jvm: Any = self.spark._jvm
        found = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.table)
        return DataFiles(found, files)
