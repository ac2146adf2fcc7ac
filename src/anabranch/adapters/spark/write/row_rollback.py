"""Rollback by rows, for when the promoted files were compacted away: the former rows back, live's later rows kept."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.target import IcebergTarget, Scratch
from anabranch.adapters.spark.session.jvm import jvm_death_reported
from anabranch.adapters.spark.write.clustering import CLUSTERED
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.target_range import PartitionRange
from anabranch.promote.target import CommitNote
from anabranch.replay.staging import Staging


class RowsGoneError(AnabranchError):
    code = "rollback.rows-gone"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class RowRollback:
    spark: SparkSession
    catalog: IcebergCatalog
    target: IcebergTarget

    def __call__(self, staging: Staging, note: CommitNote) -> int:
        """Write what live added since the promotion as files of its own, and put them in with the former files.

        What live added is what the range has now less what it had right after the promotion, as multisets of rows.
        """
        scratch = self.target.make_scratch(staging)
        retry = f"anabranch rollback {staging.run}"
        with jvm_death_reported("Production is as it was before this command.", retry):
            self._write_later(staging, scratch)
        return self.target.put_back(staging, scratch, note)

    def _write_later(self, staging: Staging, scratch: Scratch) -> None:
        """What live added since the promotion, onto the scratch branch."""
        name = spark_name(self.catalog, self.target.name)
        now = self._range(self.spark.read.option("snapshot-id", scratch.head).table(name), staging)
        then = self._range(self.spark.read.option("tag", staging.after).table(name), staging)
        gone = then.exceptAll(now).limit(1).count()
        if gone:
            raise RowsGoneError(
                f"Rows that the promotion put into {self.target.name} were changed or deleted since.",
                state="Production is as it was before this command.",
                hint=f"compare with the tag {staging.after}, and decide by hand what is to stay",
                table=self.target.name,
            )
        later = now.exceptAll(then)
        later.writeTo(f"{name}.`branch_{scratch.branch}`").options(**CLUSTERED).append()

    def _range(self, rows: DataFrame, staging: Staging) -> DataFrame:
        partitions = staging.partitions
        if not isinstance(partitions, PartitionRange):
            raise TypeError("a table that is replaced as a whole is not rolled back by rows")
        moment = F.col(f"`{partitions.axis.column}`")
        return rows.where((moment >= F.lit(partitions.start)) & (moment < F.lit(partitions.end)))
