"""A slice writer whose errors report the exit of Spark's JVM, if that is their cause."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

from anabranch.adapters.spark.session.jvm import is_dead, jvm_death_reported
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone, SliceProgress, SliceWriter
from anabranch.replay.staging import Staging


@dataclass(frozen=True)
class ReportingWriter:
    writer: SliceWriter
    run_id: str

    def limit(self, bytes_per_second: int | None) -> None:
        with self._reported():
            self.writer.limit(bytes_per_second)

    def progress(self, slice_: Slice) -> SliceProgress:
        with self._reported():
            return self.writer.progress(slice_)

    def prepare(self, slice_: Slice) -> None:
        with self._reported():
            self.writer.prepare(slice_)

    def prefetch(self, slice_: Slice) -> None:
        with self._reported():
            self.writer.prefetch(slice_)

    def await_read(self, slice_: Slice) -> None:
        with self._reported():
            self.writer.await_read(slice_)

    def discard_prefetched(self) -> None:
        """With the JVM dead there is nothing to discard, and its error is reported already."""
        if is_dead():
            with suppress(Exception):
                self.writer.discard_prefetched()
            return
        with self._reported():
            self.writer.discard_prefetched()

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        with self._reported():
            return self.writer.write(slice_, staging)

    def _reported(self) -> AbstractContextManager[None]:
        return jvm_death_reported(
            "Production is unchanged. Slices that were committed to staging stay there.",
            f"anabranch retry {self.run_id}",
        )
