"""Spark as the engine of a replay: its session, and the writers of a run's slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.app.project_context import ProjectContext
from anabranch.app.slice_writers import control_writer, slice_writer
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.replay.replayer import SliceWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkEngine:
    project_context: ProjectContext
    plan: Plan
    pipeline: Pipeline
    run_id: str
    start: Callable[[Callable[[str], None]], SparkSession]
    """The run's session, started now if there is none; it tells its argument so."""

    def writer(self, notice: Callable[[str], object]) -> SliceWriter:
        return self._reporting(
            slice_writer(self._session, self.project_context, self.plan, self.pipeline, self.run_id, notice)
        )

    def control_writer(self) -> SliceWriter:
        return self._reporting(control_writer(self._session, self.project_context, self.plan, self.run_id))

    def cancel_jobs(self) -> None:
        self._session.sparkContext.cancelAllJobs()

    @property
    def _session(self) -> SparkSession:
        return self.start(lambda _: None)

    def _reporting(self, writer: SliceWriter) -> SliceWriter:
        from anabranch.adapters.spark.write.reporting_writer import ReportingWriter

        return ReportingWriter(writer, self.run_id)
