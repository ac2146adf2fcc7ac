"""Spark as the measurer of a validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.replay.staging import Staging
from anabranch.validate.attribution import ControlStaging
from anabranch.validate.measures import Measures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkMeasurer:
    project_context: ProjectContext
    plan: Plan
    contract: Callable[[], Backfill]
    pipeline: Pipeline
    run_id: str
    start: Callable[[Callable[[str], None]], SparkSession]

    def __call__(self, staging: Staging, control: ControlStaging | None, phase: Callable[[str], None]) -> Measures:
        from anabranch.adapters.spark.session.jvm import jvm_death_reported
        from anabranch.adapters.spark.validate.measures import measure

        catalog, table = self.project_context.catalog, self.plan.target.table
        with jvm_death_reported("Production and staging are unchanged.", f"anabranch validate {self.run_id}"):
            return measure(
                self.start(phase),
                catalog.name,
                table,
                self.plan,
                staging.head,
                self.contract(),
                self.pipeline,
                self.project_context.folder,
                schema=schema_digest(catalog.open().load_table(table)),
                control=control,
                phase=phase,
            )
