"""The writer of a run's slices on Spark, by the class of its pipeline: for the corrected code, or for its control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.contract.kept_code import CodeStore
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.replay.replayer import SliceWriter
from anabranch.wiring.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.spark.transform import Transform


def slice_writer(spark: SparkSession, workplace: Workplace, plan: Plan, pipeline: Pipeline, run: str) -> SliceWriter:
    """By the project's code as it is now; the plan's guard says whether that is the plan's."""
    from anabranch.adapters.spark.lookups import Lookups
    from anabranch.adapters.spark.transform import load_transform, ship

    transform = load_transform(workplace.folder, pipeline, Lookups(workplace.catalog, plan.lookups))
    ship(spark, transform, pipeline)
    return _writer(spark, workplace, plan, pipeline, transform, run, control=False)


def control_writer(spark: SparkSession, workplace: Workplace, plan: Plan, run: str) -> SliceWriter:
    """By the code that the plan names as its control.

    Its files are not given to the workers: those know a module by its name, and that name is the corrected code's.
    Planning has refused code that would ask a worker for them.
    """
    from anabranch.adapters.spark.lookups import Lookups
    from anabranch.adapters.spark.transform import load_transform

    kept = CodeStore.below(workplace.state, plan.pipeline).load(plan.control or "")
    transform = load_transform(kept.folder, kept.pipeline, Lookups(workplace.catalog, plan.lookups))
    return _writer(spark, workplace, plan, kept.pipeline, transform, run, control=True)


def _writer(
    spark: SparkSession,
    workplace: Workplace,
    plan: Plan,
    pipeline: Pipeline,
    transform: Transform,
    run: str,
    *,
    control: bool,
) -> SliceWriter:
    from anabranch.adapters.spark.slices import SparkSliceWriter
    from anabranch.adapters.spark.window_slices import WindowSliceWriter

    kind = SparkSliceWriter if pipeline.spec.window is None else WindowSliceWriter
    return kind(spark, workplace.kafka, workplace.catalog, plan, pipeline, transform, run, control)
