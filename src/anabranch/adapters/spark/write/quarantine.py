"""The quarantine: bad records with coordinates, reason and raw bytes, in a table beside the target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.properties import COMMIT, PIPELINE
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.session.namespaces import ensure_namespace
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Slice

COLUMNS = (
    "pipeline string, run string, slice string, topic string, partition int, offset bigint, timestamp timestamp, "
    "key binary, value binary, reason string"
)
_SHOWN = 3


class QuarantineFullError(AnabranchError):
    code = "quarantine.full"
    exit_code = ExitCode.GUARDED


@dataclass(frozen=True)
class Batch:
    """Bad records that are quarantined in one commit. `id` is looked up first, so a retry writes nothing."""

    id: str
    slice: str
    run: str | None
    """None for live."""
    total: str
    """Prefix of the slices that count together towards the cap; of a run, all slices."""


def quarantine_table(target: str) -> str:
    return f"{target}__quarantine"


class QuarantineTable:
    """One pipeline's quarantine. Written before the rows of the same batch or slice, so that no bad record is lost."""

    def __init__(self, catalog: IcebergCatalog, pipeline: Pipeline) -> None:
        self._catalog = catalog
        self._pipeline = pipeline.metadata.name
        self._cap = pipeline.spec.quarantine.max_records
        self.table = quarantine_table(pipeline.spec.target.table)

    def prepare(self, spark: SparkSession) -> None:
        """Create the table if it does not exist."""
        ensure_namespace(spark, self._catalog, self.table.split(".")[0])
        # Format 2 like the target. Not partitioned: no partition of it is ever replaced.
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._path} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version'='2')"
        )

    def set_aside(self, bad: DataFrame, batch: Batch, count: int | None = None) -> int:
        """Write the bad records unless a batch with this id exists, and return their number.

        Raises QuarantineFullError, with nothing written, if the total exceeds the cap.
        """
        count = bad.count() if count is None else count
        if count == 0 or self._target.find_commit(batch.id) is not None:
            return count
        before = self._count(bad.sparkSession, batch)
        if before + count > self._cap:
            raise self._full(bad, count, before)
        rows = bad.select(
            F.lit(self._pipeline).alias("pipeline"),
            F.lit(batch.run).cast("string").alias("run"),
            F.lit(batch.slice).alias("slice"),
            *("topic", "partition", "offset", "timestamp", "key", "value", "reason"),
        )
        properties = {COMMIT: batch.id, PIPELINE: self._pipeline}
        options = {f"snapshot-property.{name}": value for name, value in properties.items()}
        rows.coalesce(1).writeTo(self._path).options(**options).append()
        return count

    @cached_property
    def _target(self) -> IcebergTarget:
        return IcebergTarget(self._catalog.open(), self.table)

    @property
    def _path(self) -> str:
        database, table = self.table.split(".")
        return f"`{self._catalog.name}`.`{database}`.`{table}`"

    def _count(self, spark: SparkSession, batch: Batch) -> int:
        """Number of records quarantined before by the same run or query."""
        records = spark.table(self._path).where(F.col("pipeline") == self._pipeline)
        of_run = F.col("run").isNull() if batch.run is None else F.col("run") == batch.run
        return records.where(of_run & F.col("slice").startswith(batch.total)).count()

    def _full(self, bad: DataFrame, count: int, before: int) -> QuarantineFullError:
        first = bad.orderBy("partition", "offset").limit(_SHOWN).collect()
        places = "; ".join(f"partition {row['partition']} offset {row['offset']}: {row['reason']}" for row in first)
        return QuarantineFullError(
            f"{before + count} records can't be decoded; quarantine.maxRecords is {self._cap}. "
            f"First of the last {count}: {places}.",
            state="These records were neither written nor quarantined; they are in the topic.",
            hint="fix the schema or the producer; or raise quarantine.maxRecords in the pipeline and, for a "
            f"backfill, cancel the run and plan again. Records quarantined before are in {self.table}",
            records=before + count,
            allowed=self._cap,
        )


@dataclass(frozen=True)
class SliceQuarantine:
    """Quarantines the bad records of a run's slices, or only counts them."""

    spark: SparkSession
    catalog: IcebergCatalog
    pipeline: Pipeline
    run_id: str
    enabled: bool

    def takes(self, bad: int) -> bool:
        """Whether `set_aside` writes anything for this number of bad records."""
        return bool(bad) and self.enabled

    def set_aside(self, slice_: Slice, bad: DataFrame, count: int) -> None:
        """Idempotent per slice: a retry finds its batch. Raises QuarantineFullError above the pipeline's cap."""
        if self.takes(count):
            table = QuarantineTable(self.catalog, self.pipeline)
            table.prepare(self.spark)
            batch = Batch(id=f"{self.run_id}/{slice_.id}", slice=slice_.id, run=self.run_id, total="")
            table.set_aside(bad, batch, count)
