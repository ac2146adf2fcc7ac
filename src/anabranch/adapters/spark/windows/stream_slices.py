"""Writes one slice of a stream-faithful replay: one batch of the stream, with live's own marks, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.checkpoints.log import batch_metadata, begin_batch
from anabranch.adapters.checkpoints.run_folder import RunFolder
from anabranch.adapters.spark.decode.decode import REASON, TOMBSTONE, bad_of, decode
from anabranch.adapters.spark.source.streaming import (
    declared_window,
    first_notes,
    run_begun_batch,
    stream_of,
    streamed_rows,
)
from anabranch.adapters.spark.transform.output_rows import WINDOW as ORIGIN
from anabranch.adapters.spark.windows.window_slices import WindowSliceWriter, listed, micros, starts_within
from anabranch.adapters.spark.windows.windows import last_start_within, length, require_windows, start_within
from anabranch.adapters.spark.write.slices import SAFE, kept, read_counts, total
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.stream_start import BY_BATCH
from anabranch.replay.late import NONE_LATE, LateEvents
from anabranch.replay.replayer import SliceDone, SlicePhase
from anabranch.replay.staging import Staging

_OTHER_STATE = ("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE")


class OtherStateError(AnabranchError):
    """The corrected transform keeps another state than the one the checkpoint has."""

    code = "replay.other-state"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class _Read:
    """What the slice's own offsets hold, by partition."""

    counts: Mapping[int, Mapping[str, int]]
    dropped: Mapping[int, int]
    late: LateEvents


@dataclass(frozen=True)
class StreamSliceWriter(WindowSliceWriter):
    """A slice is in the table or not, and the stream's state follows: behind by a batch, it is run again unwritten.

    The stream gives rows and no records, so the slice's records are read once more by their offsets: to set aside the
    bad ones, and to say what became of each.
    """

    stream: RunFolder = field(kw_only=True)

    def _write(self, slice_: Slice, staging: Staging, read_raw: Callable[[Slice], DataFrame]) -> SliceDone:
        number = self._number(slice_)
        done: list[SliceDone] = []
        with self._explained(slice_), self._same_state(slice_):
            checkpoint = self.stream.of(staging.epoch, number)
            for behind in range(self.stream.done(checkpoint), number):
                self._advance(checkpoint, behind, _discard)
            read = self._look(slice_, read_raw)
            reach("slice.write.before")
            self._steps[slice_.id] = SlicePhase.WRITE
            self._advance(checkpoint, number, lambda rows: done.append(self._stage(rows, slice_, staging, read)))
        return done[0]

    def _records_to_read(self, slice_: Slice) -> int:
        """By the stream, and once more for the ledger."""
        return 2 * slice_.width

    def _number(self, slice_: Slice) -> int:
        return next(number for number, each in enumerate(self.plan.slices) if each.id == slice_.id)

    def _look(self, slice_: Slice, read_raw: Callable[[Slice], DataFrame]) -> _Read:
        if not slice_.width:
            return _Read({}, {}, NONE_LATE)  # it only closes windows
        with kept(decode(read_raw(slice_), self.pipeline.spec)) as own:
            window = declared_window(self.pipeline.spec)
            start, inside = start_within(window, *micros(self._range))
            counts = read_counts(own, inside)
            self._set_aside(slice_, bad_of(own), total("bad", counts))
            events = own.where(F.col(REASON).isNull() & ~F.col(TOMBSTONE) & inside)
            mark = F.lit(self._late_before(slice_))
            marked = events.withColumn("late_before", mark)
            late = start + F.lit(length(window)) <= mark * 1000
            left_out = last_start_within(window, micros(self._range)[1]) + F.lit(length(window)) <= mark * 1000
            dropped = events.where(left_out).groupBy("_partition").count().collect()
            return _Read(counts, {row["_partition"]: row["count"] for row in dropped}, listed(marked, late, untold=0))

    def _late_before(self, slice_: Slice) -> int:
        """What the slice drops: events of windows that were closed before it."""
        number, start = self._number(slice_), self.stream.start
        return self._closes(self.plan.slices[number - 1]) if number else start.watermark

    def _closes(self, slice_: Slice) -> int:
        if slice_.closes is None:
            raise AssertionError(f"slice {slice_.id} does not say up to when it closes windows")
        return slice_.closes

    def _stage(self, batch: DataFrame, slice_: Slice, staging: Staging, read: _Read) -> SliceDone:
        """The rows of the range, in one commit with the ledger. All of the batch is computed, for its state."""
        with kept(batch) as computed, self.transform.attribute_transform_errors():
            rows = computed.where(starts_within(self._range))
            require_windows(rows, declared_window(self.pipeline.spec), self._range.axis.column, SAFE)
            counted = self._account(slice_, read.counts, rows.count(), read.late, read.dropped)
            # Both the stream and the ledger have read the records.
            ledger = replace(counted, bytes=counted.bytes + total("bytes", read.counts))
            reach("slice.write.after")
            return SliceDone(self._commit(rows.drop(*ORIGIN), slice_, staging, ledger), ledger)

    def _advance(self, checkpoint: Path, number: int, write: Callable[[DataFrame], None]) -> None:
        """Run the plan's slice of this number as a batch of the stream."""
        slice_, batch, topic = self.plan.slices[number], self.stream.batch(number), self.plan.source.topic
        notes = batch_metadata(checkpoint, batch - 1) if batch else first_notes(self.spark)
        ends = {partition: end for partition, (_, end) in slice_.offsets.items()}
        begin_batch(checkpoint, batch, topic, ends, self._closes(slice_), notes)
        columns = self.spark.table(spark_name(self.catalog, self.plan.target.table)).schema
        records = stream_of(self.spark, self.kafka, topic, ends, self.client_id, self.meter.rate)
        metered = self.meter.on(records, self._metered_as(slice_))
        rows = streamed_rows(metered, self.pipeline.spec, self.transform, columns)
        run_begun_batch(rows, checkpoint, batch, self.client_id, write)

    @contextmanager
    def _same_state(self, slice_: Slice) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not any(reason in str(error) for reason in _OTHER_STATE):
                raise
            raise OtherStateError(
                f"The transform keeps another state than live's checkpoint {self.stream.start.checkpoint} has: it "
                "can't go on from there.",
                state=SAFE,
                hint=f"`anabranch cancel {self.run_id}`, {BY_BATCH}",
                slice=slice_.id,
            ) from error


def _discard(batch: DataFrame) -> None:
    """Its rows are in the table: run only for the state that it leaves."""
    batch.write.format("noop").mode("append").save()
