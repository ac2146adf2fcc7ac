"""The properties that all slices of a run share: source, transform and target."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.spark.session.table_name import spark_name
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.plan.target_range import PartitionRange
from anabranch.replay.staging import Staging


@dataclass(frozen=True)
class SliceJob:
    spark: SparkSession
    kafka: KafkaAccess
    catalog: IcebergCatalog
    plan: Plan
    pipeline: Pipeline
    transform: LoadedTransform
    run_id: str
    control: bool = False
    """Whether it replays the control, whose bad records are quarantined only by the corrected code's replay."""
    set_aside: bool = True
    """Whether bad records are quarantined; otherwise they are only counted."""

    @property
    def client_id(self) -> str:
        """Broker quotas and logs identify the replay by this name."""
        return f"{REPLAY_PREFIX}-{self.run_id}"

    @property
    def table(self) -> str:
        return spark_name(self.catalog, self.plan.target.table)

    @property
    def columns(self) -> StructType:
        """The target's current columns."""
        return self.spark.table(self.table).schema

    @property
    def partitions(self) -> PartitionRange:
        """The range that the plan replaces; TypeError for a plan that replaces the whole table."""
        partitions = self.plan.target.partitions
        if not isinstance(partitions, PartitionRange):
            raise TypeError(f"the plan of run {self.run_id} replaces no range")
        return partitions

    def branch(self, staging: Staging) -> str:
        """The name of the staging branch in Spark's SQL."""
        return f"{self.table}.`branch_{staging.name}`"
