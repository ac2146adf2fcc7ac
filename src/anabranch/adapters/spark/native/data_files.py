"""Data files in a table's folder that belong to no snapshot yet.

Spark returns the files instead of committing them, so that one commit has both files and ledger, which is known only
after they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.spark.write.clustering import CLUSTERED, FANOUT
from anabranch.adapters.spark.write.target_table import spark_name

BRANCH_GONE = "anabranch.BranchFence$BranchGoneException"


@dataclass(frozen=True)
class DataFiles:
    """The owner must commit or delete them; otherwise they stay in the table's folder as orphans."""

    spark: SparkSession
    table: Any
    """Iceberg's `Table` object in the JVM."""
    files: tuple[Any, ...]

    @property
    def rows(self) -> int:
        """Counted by the file writers."""
        return sum(file.recordCount() for file in self.files)

    def commit(self, branch: str, properties: Mapping[str, str]) -> None:
        """All files in one fast append on top of the branch's head at that time. Not idempotent.

        Deletes the files and commits nothing if the branch is gone by the commit itself: the caller finds no snapshot
        of its slice.
        """
        jvm: Any = self.spark._jvm
        append = jvm.anabranch.BranchFence.append(self.table, branch)
        for file in self.files:
            append.appendFile(file)
        for name, value in properties.items():
            append.set(name, value)
        try:
            append.commit()
        except Py4JJavaError as failed:
            if failed.java_exception.getClass().getName() != BRANCH_GONE:
                raise
            self.drop()  # refused before anything was sent to the catalog

    def drop(self) -> None:
        """Delete the files. Must not be called after `commit`, even if that raised."""
        for file in self.files:
            self.table.io().deleteFile(file.location())


class FilesTemplate:
    """The optimised query that writes rows into data files of a table, for any offsets of its one Kafka read.

    Rows of one table partition are shuffled to one task before they are written, unless the table's distribution mode
    is another: few large files are faster to write than many small ones, and need no compaction.
    """

    def __init__(self, rows: DataFrame, catalog: IcebergCatalog, table: str) -> None:
        self._spark, self._table = rows.sparkSession, spark_name(catalog, table)
        jvm: Any = self._spark._jvm
        # The native writer accepts rows in any order and bounds its open files; for Iceberg's writer rows are sorted.
        self._template = jvm.anabranch.AppendTemplate(rows._jdf, self._table, FANOUT)
        if not self._template.boundsOpenFiles():
            self._template = jvm.anabranch.AppendTemplate(rows._jdf, self._table, CLUSTERED)

    @property
    def takes_offsets(self) -> bool:
        """Whether the query has exactly one read whose offsets can be replaced. With Spark's V1 sources it has none."""
        return int(self._template.sources()) == 1

    def planned(
        self, source: Mapping[str, str], counters: Mapping[str, Any], *, client: str, name: str
    ) -> PlannedFiles:
        """The query for the offsets in `source`, physically planned and not started. `counters` replace the template's.

        Records read are metered for the client under `name`.
        """
        planned = self._template.planned(dict(source), dict(counters), client, name)
        return PlannedFiles(self._spark, self._table, planned)


@dataclass(frozen=True)
class PlannedFiles:
    spark: SparkSession
    table: str
    append: Any

    def write(self) -> DataFiles:
        """Run the job and return its files. Called once. A failed job removes its files."""
        files = tuple(self.append.run())
        jvm: Any = self.spark._jvm
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.table)
        return DataFiles(self.spark, table, files)
