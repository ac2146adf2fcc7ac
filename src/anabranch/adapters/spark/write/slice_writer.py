"""A run's slice writer: the source reads a slice, a row writer transforms and commits it."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.adapters.spark.ports import RowWriter, SliceSource
from anabranch.adapters.spark.source.driver_reader import is_timestamp_overflow
from anabranch.adapters.spark.write.progress import ProgressTracker
from anabranch.adapters.spark.write.slice_errors import SliceFailedError
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone, SliceProgress
from anabranch.replay.staging import Staging


@dataclass(frozen=True)
class SparkSliceWriter:
    """Each slice is a separate query, and reads nothing before `write`."""

    source: SliceSource
    writer: RowWriter
    tracker: ProgressTracker

    def limit(self, bytes_per_second: int | None) -> None:
        self.source.limit(bytes_per_second)

    def progress(self, slice_: Slice) -> SliceProgress:
        return self.tracker.report(
            slice_,
            read=self.source.records_read(slice_),
            planned=self.writer.records_to_read(slice_),
            bytes_read=self.source.bytes_read,
            throttled_ms=self.source.throttled_ms,
        )

    def prepare(self, slice_: Slice) -> None:
        """No change: slices share nothing."""

    def prefetch(self, slice_: Slice) -> None:
        """No change: a slice may depend on the commit of the one before."""

    def await_read(self, slice_: Slice) -> None:
        """Nothing is read before `write`."""

    def discard_prefetched(self) -> None:
        """No change: nothing was prefetched."""

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        """If Spark's reader fails on a record's timestamp, reads the slice again through the driver."""
        try:
            return self.writer.write(slice_, staging, self.source.read)
        except SliceFailedError as failed:
            if not is_timestamp_overflow(failed.__cause__):
                raise
        return self.writer.write(slice_, staging, self.source.read_via_driver)
