"""Who writes the slices of a run, by its plan, and where a replay as a stream keeps its state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.run_folder import RunFolder
from anabranch.app.project_context import ProjectContext
from anabranch.contract.code_store import CodeStore
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.replay.replayer import SliceWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.write.slices import SparkSliceWriter


def slice_writer(
    spark: SparkSession, project_context: ProjectContext, plan: Plan, pipeline: Pipeline, run_id: str
) -> SliceWriter:
    """By the project's code as it is now; the plan's guard says whether that is the plan's."""
    from anabranch.adapters.spark.transform.load import load_transform, ship
    from anabranch.adapters.spark.transform.lookups import LookupTables
    from anabranch.adapters.spark.windows.stream_slices import StreamSliceWriter

    transform = load_transform(project_context.folder, pipeline, LookupTables(project_context.catalog, plan.lookups))
    ship(spark, transform, pipeline)
    given = (spark, project_context.kafka, project_context.catalog, plan, pipeline, transform, run_id)
    stream = stream_folder(project_context, plan, run_id)
    if stream is not None:
        return StreamSliceWriter(*given, stream=stream)
    return _in_batches(plan, pipeline)(*given)


def control_writer(spark: SparkSession, project_context: ProjectContext, plan: Plan, run_id: str) -> SliceWriter:
    """By the code that the plan names as its control.

    Its files are not given to the workers: those know a module by its name, and that name is the corrected code's.
    Planning has refused code that would ask a worker for them.
    """
    from anabranch.adapters.spark.transform.load import load_transform
    from anabranch.adapters.spark.transform.lookups import LookupTables

    kept = CodeStore.below(project_context.state, plan.pipeline).load(plan.control or "")
    transform = load_transform(kept.folder, kept.pipeline, LookupTables(project_context.catalog, plan.lookups))
    kind = _in_batches(plan, kept.pipeline)
    return kind(
        spark, project_context.kafka, project_context.catalog, plan, kept.pipeline, transform, run_id, control=True
    )


def _in_batches(plan: Plan, pipeline: Pipeline) -> type[SparkSliceWriter]:
    from anabranch.adapters.spark.windows.window_slices import WindowSliceWriter
    from anabranch.adapters.spark.write.append_slices import AppendSliceWriter
    from anabranch.adapters.spark.write.slices import SparkSliceWriter

    if pipeline.spec.window is not None:
        return WindowSliceWriter
    return SparkSliceWriter if plan.strategy.whole_table else AppendSliceWriter


def run_folder(project_context: ProjectContext, run_id: str) -> Path:
    """Where a run leaves what people look for."""
    return project_context.state / "runs" / run_id


def stream_folder(project_context: ProjectContext, plan: Plan, run_id: str) -> RunFolder | None:
    """The checkpoint of a run that replays as a stream; None for any other."""
    if plan.stream is None:
        return None
    kept = CheckpointStore.of(project_context.state, plan.pipeline)
    return RunFolder(stream_place(project_context, run_id), run_id, kept, plan.stream, plan.source.topic)


def stream_place(project_context: ProjectContext, run_id: str) -> Path:
    """Where the checkpoints of a run's epochs are."""
    return run_folder(project_context, run_id).resolve() / "stream"
