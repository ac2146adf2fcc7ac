"""Rollback by rows, if the promoted files were compacted: writes live's later rows to separate files."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.later_rows import Scratch
from anabranch.adapters.iceberg.refs import after_tag
from anabranch.adapters.spark.session.jvm import jvm_death_reported
from anabranch.adapters.spark.write.clustering import CLUSTERED
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.target_range import PartitionRange
from anabranch.replay.staging import Staging


class RowsGoneError(AnabranchError):
    code = "rollback.rows-gone"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class LaterRowsOfRange:
    """The rows that live added to a range: the current rows minus those after the promotion, as multisets."""

    spark: SparkSession
    catalog: IcebergCatalog
    table: str

    def write(self, staging: Staging, scratch: Scratch) -> None:
        """Raises RowsGoneError if promoted rows were changed or deleted: live's rows are then unknown."""
        with jvm_death_reported("Production is as it was before this command.", f"anabranch rollback {staging.run}"):
            self._write(staging, scratch)

    def _write(self, staging: Staging, scratch: Scratch) -> None:
        name = spark_name(self.catalog, self.table)
        now = self._range(self.spark.read.option("snapshot-id", scratch.head).table(name), staging)
        then = self._range(self.spark.read.option("tag", after_tag(staging.run)).table(name), staging)
        gone = then.exceptAll(now).limit(1).count()
        if gone:
            raise RowsGoneError(
                f"Rows that the promotion added to {self.table} were changed or deleted since.",
                state="Production unchanged by this command.",
                hint=f"compare the table with tag {after_tag(staging.run)} and correct it by hand",
                table=self.table,
            )
        later = now.exceptAll(then)
        later.writeTo(f"{name}.`branch_{scratch.branch}`").options(**CLUSTERED).append()

    def _range(self, rows: DataFrame, staging: Staging) -> DataFrame:
        partitions = staging.partitions
        if not isinstance(partitions, PartitionRange):
            raise TypeError("a table that is replaced as a whole is not rolled back by comparing rows")
        moment = F.col(f"`{partitions.axis.column}`")
        return rows.where((moment >= F.lit(partitions.start)) & (moment < F.lit(partitions.end)))
