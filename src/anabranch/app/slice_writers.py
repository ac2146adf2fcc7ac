"""The slice writer of a run, by its plan, and where a stream-faithful replay has its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.run_folder import RunFolder
from anabranch.app.project_context import ProjectContext
from anabranch.contract.code_store import CodeStore
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.control import pinned_control
from anabranch.plan.plan import Plan
from anabranch.replay.replayer import SliceWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.write.job import SliceJob


def slice_job(
    spark: SparkSession, project_context: ProjectContext, plan: Plan, pipeline: Pipeline, run_id: str
) -> SliceJob:
    """By the project's code as it is now; the plan's guard says whether that is the plan's."""
    from anabranch.adapters.spark.transform.load import load_transform, ship
    from anabranch.adapters.spark.transform.lookups import LookupTables
    from anabranch.adapters.spark.write.job import SliceJob

    transform = load_transform(project_context.folder, pipeline, LookupTables(project_context.catalog, plan.lookups))
    ship(spark, transform, pipeline)
    return SliceJob(spark, project_context.kafka, project_context.catalog, plan, pipeline, transform, run_id)


def slice_writer(
    spark: SparkSession,
    project_context: ProjectContext,
    plan: Plan,
    pipeline: Pipeline,
    run_id: str,
    notice: Callable[[str], object],
) -> SliceWriter:
    """The writer of the run's own slices. `notice` shows the user a line, such as why the native writer is not used."""
    from anabranch.adapters.spark.write.factory import compose_slice_writer

    return compose_slice_writer(
        slice_job(spark, project_context, plan, pipeline, run_id),
        stream=lambda: stream_folder(project_context, plan, run_id),
        native=project_context.loaded.settings.spark.native,
        notice=notice,
    )


def control_writer(spark: SparkSession, project_context: ProjectContext, plan: Plan, run_id: str) -> SliceWriter:
    """The writer of the control's slices, by the code that the plan names as its control.

    Its files are not shipped to the workers: they know a module by its name, and that name is the corrected code's.
    Planning refuses code whose functions would need its modules on a worker.
    """
    from anabranch.adapters.spark.transform.load import load_transform
    from anabranch.adapters.spark.transform.lookups import LookupTables
    from anabranch.adapters.spark.write.factory import compose_slice_writer
    from anabranch.adapters.spark.write.job import SliceJob

    stored = pinned_control(plan, CodeStore.below(project_context.state, plan.pipeline))
    transform = load_transform(stored.folder, stored.pipeline, LookupTables(project_context.catalog, plan.lookups))
    return compose_slice_writer(
        SliceJob(
            spark,
            project_context.kafka,
            project_context.catalog,
            plan,
            stored.pipeline,
            transform,
            run_id,
            control=True,
        ),
        native=project_context.loaded.settings.spark.native,
    )


def run_folder(project_context: ProjectContext, run_id: str) -> Path:
    """Where a run leaves what people look for."""
    return project_context.state / "runs" / run_id


def stream_folder(project_context: ProjectContext, plan: Plan, run_id: str) -> RunFolder:
    """The checkpoint of a run that replays as a stream. ValueError for a plan that does not."""
    store = CheckpointStore.of(project_context.state, plan.pipeline)
    return RunFolder.of_plan(stream_place(project_context, run_id), run_id, store, plan)


def stream_place(project_context: ProjectContext, run_id: str) -> Path:
    """Where the checkpoints of a run's epochs are."""
    return run_folder(project_context, run_id).resolve() / "stream"
