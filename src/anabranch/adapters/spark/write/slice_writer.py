"""A run's slice writer: the source reads a slice, a row writer makes its rows and commits them."""

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
    """Each slice is a query of its own, and nothing of it is read before `write`."""

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
        )

    def prepare(self, slice_: Slice) -> None:
        """Nothing is shared between slices."""

    def prefetch(self, slice_: Slice) -> None:
        """What the slice before has committed may be needed: nothing is read ahead."""

    def await_read(self, slice_: Slice) -> None:
        """Nothing is read before `write`."""

    def discard_prefetched(self) -> None:
        """Nothing was read ahead."""

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        """Where Spark's reader fails on a record's timestamp, the slice is read again through the driver."""
        try:
            return self.writer.write(slice_, staging, self.source.read)
        except SliceFailedError as failed:
            if not is_timestamp_overflow(failed.__cause__):
                raise
        return self.writer.write(slice_, staging, self.source.read_via_driver)
