"""Composes a run's slice writer from its parts: source, decoder, transform and the row writer for the plan."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.adapters.checkpoints.run_folder import RunFolder
from anabranch.adapters.spark.decode.decode import JsonDecoder
from anabranch.adapters.spark.keyed.merge_writer import MergeWriter
from anabranch.adapters.spark.native.append_writer import NativeAppendWriter
from anabranch.adapters.spark.native.versions import running_versions, version_mismatch
from anabranch.adapters.spark.ports import RowWriter
from anabranch.adapters.spark.windows.stream_writer import StreamWriter
from anabranch.adapters.spark.windows.window_writer import WindowWriter
from anabranch.adapters.spark.write.append_writer import AppendWriter
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.adapters.spark.write.slice_writer import SparkSliceWriter
from anabranch.adapters.spark.write.steps import SliceSteps
from anabranch.replay.replayer import SliceWriter


def compose_slice_writer(
    job: SliceJob,
    *,
    stream: Callable[[], RunFolder] | None = None,
    native: bool = True,
    notice: Callable[[str], object] = lambda _: None,
) -> SliceWriter:
    """The writer for the job's plan. Rows and ledger don't depend on `native`, which selects the native writer.

    `stream` returns the checkpoint of a stream-faithful run, and is called only for one. `notice` is called once, with
    a line for the user, if native code is enabled and was built for other versions of Spark, Iceberg or Parquet.
    """
    mismatch = version_mismatch(running_versions(job.spark)) if native else None
    if mismatch is not None:
        notice(mismatch)
    fits = native and mismatch is None
    steps = SliceSteps.of(job, JsonDecoder(job.pipeline.spec, fast=fits))
    writer = _row_writer(steps, stream)
    plain = SparkSliceWriter(steps.source, writer, steps.progress)
    return NativeAppendWriter(steps, plain) if fits and isinstance(writer, AppendWriter) else plain


def _row_writer(steps: SliceSteps, stream: Callable[[], RunFolder] | None) -> RowWriter:
    if stream is not None and steps.job.plan.stream is not None:
        return StreamWriter(steps, stream())
    if steps.job.pipeline.spec.window is not None:
        return WindowWriter(steps)
    return MergeWriter(steps) if steps.job.plan.strategy.whole_table else AppendWriter(steps)
