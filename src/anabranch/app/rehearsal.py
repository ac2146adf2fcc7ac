"""Builds the rehearsal of a backfill on the project's cluster, catalog and Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.partition_stats import smallest_range
from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.adapters.iceberg.rollback_rehearsal import rehearse_rollback
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.live_position import ProjectLivePosition
from anabranch.app.live_watch import CLIENT_ID
from anabranch.app.planning import ProjectInputs
from anabranch.app.project_context import ProjectContext
from anabranch.app.slice_writers import slice_job
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.readiness.rehearse import Rehearsal
from anabranch.replay.replayer import SliceWriter
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.write.job import SliceJob

EPOCH = 1


def build_rehearsal(
    project_context: ProjectContext,
    store: SqlRunStore,
    plan: Plan,
    contract: Backfill,
    pipeline: Pipeline,
    person: str,
    spark: SparkSession,
    bytes_per_record: float | None = None,
    say: Callable[[str], object] = lambda _: None,
    pairs: int = 0,
) -> Rehearsal:
    tools = ProjectRehearsal(project_context, plan, contract, pipeline, spark)
    return Rehearsal(tools, store, plan, contract, pipeline, person, bytes_per_record, say, pairs)


@dataclass(frozen=True)
class ProjectRehearsal:
    """A `readiness.ports.RehearsalTools`."""

    project_context: ProjectContext
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    spark: SparkSession

    @property
    def name(self) -> str:
        """Names its branches, in place of a run's id."""
        return f"rehearsal-{self.plan.pipeline}"

    @cached_property
    def target(self) -> IcebergTarget:
        return IcebergTarget(self.project_context.catalog.open(), self.plan.target.table)

    def remove_branches(self) -> None:
        self.target.remove_refs(self.name)

    def make_branch(self) -> None:
        self.target.make_staging(self.name, EPOCH, self.plan.staging_base, self.plan.replaced_range)

    def staging(self) -> Staging:
        [place] = self.target.stagings(self.name)
        return Staging(self.name, EPOCH, place.name, place.head, self.plan.target.partitions, self.plan.start_snapshot)

    def head(self, staging: Staging) -> Head:
        [place] = self.target.stagings(staging.run)
        return place.head

    def writer(self) -> SliceWriter:
        from anabranch.adapters.spark.write.factory import compose_slice_writer

        native = self.project_context.loaded.settings.spark.native
        return compose_slice_writer(self._job(), native=native, notice=lambda _: None)

    def _job(self) -> SliceJob:
        """As a replay's, except that bad records are only counted."""
        job = slice_job(self.spark, self.project_context, self.plan, self.pipeline, self.name)
        return replace(job, set_aside=False)

    def live(self) -> ProjectLivePosition:
        return ProjectLivePosition.of(self.project_context, self.pipeline, CLIENT_ID)

    def observe_inputs(self) -> None:
        ProjectInputs(self.project_context, self.pipeline, self.plan).now()

    def time_stages(
        self,
        slice_: Slice,
        staging: Staging,
        clock: Callable[[], float],
        write: Callable[[], float],
        commit: float,
    ) -> dict[str, float]:
        from anabranch.adapters.spark.write.stages import time_stages

        return time_stages(self._job(), slice_, staging, clock, write, commit)

    def validation(self, head: Head) -> Callable[[], float]:
        from anabranch.adapters.spark.validate.measures import measure

        table = self.target.load()
        part = smallest_range(table, snapshot_of(head), self.plan.target.partitions)
        narrow = replace(self.plan, target=replace(self.plan.target, partitions=part))

        def validate() -> float:
            measures = measure(
                self.spark,
                self.project_context.catalog.name,
                self.plan.target.table,
                narrow,
                head,
                self.contract,
                self.pipeline,
                self.project_context.folder,
                schema=schema_digest(table),
            )
            return fmean(side.total.rows for side in (measures.base, measures.staged))

        return validate

    def rehearse_rollback(self, head: Head, clock: Callable[[], float]) -> RehearsedRollback:
        return rehearse_rollback(self.target, self.name, self.plan.target.partitions, head, clock)

    def cores(self) -> int:
        return int(self.spark.sparkContext.defaultParallelism)
