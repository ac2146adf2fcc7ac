"""Who writes the slices of a run, by its plan, and where a replay as a stream keeps its state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.checkpoints.kept import KeptCheckpoints
from anabranch.adapters.checkpoints.run_folder import RunFolder
from anabranch.contract.kept_code import CodeStore
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.replay.replayer import SliceWriter
from anabranch.wiring.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.slices import SparkSliceWriter


def slice_writer(spark: SparkSession, workplace: Workplace, plan: Plan, pipeline: Pipeline, run_id: str) -> SliceWriter:
    """By the project's code as it is now; the plan's guard says whether that is the plan's."""
    from anabranch.adapters.spark.lookups import Lookups
    from anabranch.adapters.spark.stream_slices import StreamSliceWriter
    from anabranch.adapters.spark.transform import load_transform, ship

    transform = load_transform(workplace.folder, pipeline, Lookups(workplace.catalog, plan.lookups))
    ship(spark, transform, pipeline)
    given = (spark, workplace.kafka, workplace.catalog, plan, pipeline, transform, run_id)
    stream = stream_folder(workplace, plan, run_id)
    if stream is not None:
        return StreamSliceWriter(*given, stream=stream)
    return _in_batches(plan, pipeline)(*given)


def control_writer(spark: SparkSession, workplace: Workplace, plan: Plan, run_id: str) -> SliceWriter:
    """By the code that the plan names as its control.

    Its files are not given to the workers: those know a module by its name, and that name is the corrected code's.
    Planning has refused code that would ask a worker for them.
    """
    from anabranch.adapters.spark.lookups import Lookups
    from anabranch.adapters.spark.transform import load_transform

    kept = CodeStore.below(workplace.state, plan.pipeline).load(plan.control or "")
    transform = load_transform(kept.folder, kept.pipeline, Lookups(workplace.catalog, plan.lookups))
    kind = _in_batches(plan, kept.pipeline)
    return kind(spark, workplace.kafka, workplace.catalog, plan, kept.pipeline, transform, run_id, control=True)


def _in_batches(plan: Plan, pipeline: Pipeline) -> type[SparkSliceWriter]:
    from anabranch.adapters.spark.append_slices import AppendSliceWriter
    from anabranch.adapters.spark.slices import SparkSliceWriter
    from anabranch.adapters.spark.window_slices import WindowSliceWriter

    if pipeline.spec.window is not None:
        return WindowSliceWriter
    return SparkSliceWriter if plan.strategy.whole_table else AppendSliceWriter


def run_folder(workplace: Workplace, run_id: str) -> Path:
    """Where a run leaves what people look for."""
    return workplace.state / "runs" / run_id


def stream_folder(workplace: Workplace, plan: Plan, run_id: str) -> RunFolder | None:
    """The checkpoint of a run that replays as a stream; None for any other."""
    if plan.stream is None:
        return None
    kept = KeptCheckpoints.of(workplace.state, plan.pipeline)
    return RunFolder(stream_place(workplace, run_id), run_id, kept, plan.stream, plan.source.topic)


def stream_place(workplace: Workplace, run_id: str) -> Path:
    """Where the checkpoints of a run's epochs are."""
    return run_folder(workplace, run_id).resolve() / "stream"
