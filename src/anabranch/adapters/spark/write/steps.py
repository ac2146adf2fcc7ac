"""The steps that slice writers share, built once per run. Each writer has its own order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from anabranch.adapters.spark.ports import Decoder
from anabranch.adapters.spark.source.slice_source import KafkaSliceSource
from anabranch.adapters.spark.write.accounting import SliceAccounting
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.adapters.spark.write.progress import ProgressTracker
from anabranch.adapters.spark.write.quarantine import SliceQuarantine
from anabranch.adapters.spark.write.slice_committer import SliceCommitter
from anabranch.adapters.spark.write.slice_errors import SliceErrors
from anabranch.adapters.spark.write.target_rows import RangeFilter, TargetRows


@dataclass(frozen=True)
class SliceSteps:
    job: SliceJob
    source: KafkaSliceSource
    decode: Decoder
    range: RangeFilter
    rows: TargetRows
    quarantine: SliceQuarantine
    accounting: SliceAccounting
    commit: SliceCommitter
    errors: SliceErrors
    progress: ProgressTracker

    @classmethod
    def of(cls, job: SliceJob, decode: Decoder) -> SliceSteps:
        source = KafkaSliceSource(job.spark, job.kafka, job.plan.source.topic, job.client_id, job.control)
        in_range, progress = RangeFilter(job.plan.target.partitions), ProgressTracker()
        return cls(
            job,
            source,
            decode,
            in_range,
            TargetRows(job, in_range),
            SliceQuarantine(job.spark, job.catalog, job.pipeline, job.run_id, job.set_aside and not job.control),
            SliceAccounting(job, source),
            SliceCommitter(job, progress),
            SliceErrors(job.transform, job.run_id, job.control),
            progress,
        )


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Computed once: the counted and the written rows must be the same, from one read of Kafka."""
    cached = frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield cached
    finally:
        cached.unpersist()
