"""Writes a slice of a stream-faithful replay: one batch of the stream, at live's own watermarks, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.checkpoints.log import batch_metadata, begin_batch
from anabranch.adapters.checkpoints.run_folder import RunFolder
from anabranch.adapters.spark.decode.decode import REASON, TOMBSTONE, bad_of
from anabranch.adapters.spark.ports import ReadSlice
from anabranch.adapters.spark.source.streaming import (
    declared_window,
    first_notes,
    run_begun_batch,
    stream_of,
    streamed_rows,
)
from anabranch.adapters.spark.transform.output_rows import WINDOW as ORIGIN
from anabranch.adapters.spark.windows.window_writer import WindowLedger, late_events, micros, starts_within
from anabranch.adapters.spark.windows.windows import last_start_within, length, require_windows, start_within
from anabranch.adapters.spark.write.accounting import PartitionCounts, read_counts, total
from anabranch.adapters.spark.write.steps import SliceSteps, persisted
from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.stream_start import BY_BATCH
from anabranch.replay.late import NONE_LATE, LateEvents
from anabranch.replay.ledger import UNSTAGED
from anabranch.replay.replayer import SliceDone, SlicePhase
from anabranch.replay.staging import Staging

_OTHER_STATE = ("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE")


class OtherStateError(AnabranchError):
    """The corrected transform's state has another schema than the checkpoint's."""

    code = "replay.other-state"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class _OwnRecords:
    """The records at the slice's offsets, by partition."""

    counts: PartitionCounts
    dropped: Mapping[int, int]
    late: LateEvents


@dataclass(frozen=True)
class StreamWriter:
    """The table is the authority on which slices are done. If the stream's state is a batch behind it, the batch is run
    again without writing.

    The stream returns rows and no records, so the slice's records are read again by their offsets, to quarantine the
    bad ones and to account for each.
    """

    steps: SliceSteps
    stream: RunFolder

    def records_to_read(self, slice_: Slice) -> int:
        """Read by the stream, and again for the ledger."""
        return 2 * slice_.width

    def write(self, slice_: Slice, staging: Staging, read: ReadSlice) -> SliceDone:
        steps, number, done = self.steps, self._number(slice_), list[SliceDone]()
        with steps.errors.attributed(slice_), self._same_state(slice_):
            checkpoint = self.stream.of(staging.epoch, number)
            for behind in range(self.stream.done(checkpoint), number):
                self._advance(checkpoint, behind, _discard)
            own = self._read_own(slice_, read)
            reach("slice.write.before")
            steps.progress.enter(slice_, SlicePhase.WRITE)
            self._advance(checkpoint, number, lambda rows: done.append(self._stage(rows, slice_, staging, own)))
        return done[0]

    def _number(self, slice_: Slice) -> int:
        return next(number for number, each in enumerate(self.steps.job.plan.slices) if each.id == slice_.id)

    def _read_own(self, slice_: Slice, read: ReadSlice) -> _OwnRecords:
        if not slice_.width:
            return _OwnRecords({}, {}, NONE_LATE)  # it only closes windows
        steps, job = self.steps, self.steps.job
        with persisted(steps.decode(read(slice_))) as decoded:
            window = declared_window(job.pipeline.spec)
            start, inside = start_within(window, *micros(job.partitions))
            counts = read_counts(decoded, inside)
            steps.quarantine.set_aside(slice_, bad_of(decoded), total("bad", counts))
            events = decoded.where(F.col(REASON).isNull() & ~F.col(TOMBSTONE) & inside)
            watermark = F.lit(self._late_before(slice_))
            late = start + F.lit(length(window)) <= watermark * 1000
            left_out = last_start_within(window, micros(job.partitions)[1]) + F.lit(length(window)) <= watermark * 1000
            dropped = events.where(left_out).groupBy("_partition").count().collect()
            return _OwnRecords(
                counts,
                {row["_partition"]: row["count"] for row in dropped},
                late_events(events.withColumn("late_before", watermark), late, undecided=0),
            )

    def _late_before(self, slice_: Slice) -> int:
        """The events that the slice drops: those of windows that were closed before it."""
        number, start = self._number(slice_), self.stream.start
        return self._closes(self.steps.job.plan.slices[number - 1]) if number else start.watermark

    def _closes(self, slice_: Slice) -> int:
        if slice_.closes is None:
            raise AssertionError(f"slice {slice_.id} does not say up to when it closes windows")
        return slice_.closes

    def _stage(self, batch: DataFrame, slice_: Slice, staging: Staging, own: _OwnRecords) -> SliceDone:
        """Commit the rows of the range with the ledger. The whole batch is computed, for its state."""
        steps, job = self.steps, self.steps.job
        with persisted(batch) as computed, job.transform.attribute_transform_errors():
            rows = computed.where(starts_within(job.partitions))
            require_windows(rows, declared_window(job.pipeline.spec), job.partitions.axis.column, UNSTAGED)
            counted = WindowLedger(steps).of(slice_, own.counts, rows.count(), own.late, own.dropped)
            # Both the stream and the ledger have read the records.
            ledger = replace(counted, bytes=counted.bytes + total("bytes", own.counts))
            reach("slice.write.after")
            return SliceDone(steps.commit.append(rows.drop(*ORIGIN), slice_, staging, ledger), ledger)

    def _advance(self, checkpoint: Path, number: int, write: Callable[[DataFrame], None]) -> None:
        """Run the plan's slice of this number as a batch of the stream."""
        job, source = self.steps.job, self.steps.source
        slice_, batch, topic = job.plan.slices[number], self.stream.batch(number), job.plan.source.topic
        notes = batch_metadata(checkpoint, batch - 1) if batch else first_notes(job.spark)
        ends = {partition: end for partition, (_, end) in slice_.offsets.items()}
        begin_batch(checkpoint, batch, topic, ends, self._closes(slice_), notes)
        records = stream_of(job.spark, job.kafka, topic, ends, job.client_id, source.meter.rate)
        metered = source.meter.on(records, source.metered_name(slice_))
        rows = streamed_rows(metered, job.pipeline.spec, job.transform, job.columns)
        run_begun_batch(rows, checkpoint, batch, job.client_id, write)

    @contextmanager
    def _same_state(self, slice_: Slice) -> Iterator[None]:
        """Raise OtherStateError if Spark refuses the checkpoint's state for the current transform."""
        try:
            yield
        except Exception as error:
            if not any(reason in str(error) for reason in _OTHER_STATE):
                raise
            raise OtherStateError(
                f"The transform's state has another schema than the one in live's checkpoint "
                f"{self.stream.start.checkpoint}: the replay can't continue from there.",
                state=UNSTAGED,
                command=f"anabranch cancel {self.steps.job.run_id}",
                hint=f"cancel the run, {BY_BATCH}",
                slice=slice_.id,
            ) from error


def _discard(batch: DataFrame) -> None:
    """Run a batch whose rows are in the table already, only for its state."""
    batch.write.format("noop").mode("append").save()
