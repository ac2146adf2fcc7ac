"""Writes a slice of an append-only table in one pass: writes and counts data files, then makes one commit.

Slices are prefetched: their files are written early and belong to no snapshot until the slice is committed. If one pass
is not possible, the plain writer writes the slice, with the same rows and the same ledger.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from py4j.protocol import Py4JError

from anabranch.adapters.spark.decode.decode import bad_of
from anabranch.adapters.spark.native.data_files import DataFiles
from anabranch.adapters.spark.native.record_counter import RecordCounter
from anabranch.adapters.spark.native.slice_queries import SliceQueries, SliceQuery
from anabranch.adapters.spark.source.driver_reader import is_timestamp_overflow
from anabranch.adapters.spark.write.accounting import append_fates, total
from anabranch.adapters.spark.write.prefetch import Prefetch
from anabranch.adapters.spark.write.slice_errors import SliceFailedError
from anabranch.adapters.spark.write.slice_writer import SparkSliceWriter
from anabranch.adapters.spark.write.steps import SliceSteps, persisted
from anabranch.crashpoints import reach
from anabranch.plan.slices import Slice
from anabranch.replay.ledger import UNSTAGED, LedgerError
from anabranch.replay.replayer import SliceDone, SliceProgress
from anabranch.replay.staging import Staging


@dataclass(frozen=True)
class WrittenFiles:
    """A slice before its commit."""

    files: DataFiles
    read: RecordCounter
    rows: RecordCounter


@dataclass(frozen=True)
class NativeAppendWriter:
    steps: SliceSteps
    plain: SparkSliceWriter
    """Writes slices that this writer can't."""

    @cached_property
    def _queries(self) -> SliceQueries:
        return SliceQueries(self.steps)

    @cached_property
    def _prefetch(self) -> Prefetch[SliceQuery | None, WrittenFiles | None]:
        return Prefetch(self._queries.of, self._write_files)

    def limit(self, bytes_per_second: int | None) -> None:
        self.plain.limit(bytes_per_second)

    def progress(self, slice_: Slice) -> SliceProgress:
        return self.plain.progress(slice_)

    def prepare(self, slice_: Slice) -> None:
        self._queries.prepare(slice_)

    def prefetch(self, slice_: Slice) -> None:
        self._prefetch.prefetch(slice_)

    def await_read(self, slice_: Slice) -> None:
        self._prefetch.await_done(slice_)

    def discard_prefetched(self) -> None:
        self._prefetch.discard_prefetched(_drop)

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        self.prefetch(slice_)
        written = self._prefetch.take(slice_)
        if written is not None and total("strays", written.rows.counts):
            written.files.drop()
            written = None  # the plain writer finds such a row and reports its record
        return self.plain.write(slice_, staging) if written is None else self._commit(slice_, staging, written)

    def _write_files(self, slice_: Slice, query: SliceQuery | None) -> WrittenFiles | None:
        """The slice's files and counts; None if the plain writer has to write the slice."""
        if query is None:
            return None
        try:
            with self.steps.errors.attributed(slice_):
                reach("slice.write.before")
                return WrittenFiles(query.planned.write(), query.read, query.rows)
        except SliceFailedError as failed:
            if is_timestamp_overflow(failed.__cause__):
                return None
            raise

    def _commit(self, slice_: Slice, staging: Staging, written: WrittenFiles) -> SliceDone:
        """One commit with the files and the ledger. If the counts do not agree, the files are deleted."""
        steps = self.steps
        try:
            with steps.errors.attributed(slice_):
                self._require_agreement(slice_, written)
                read = written.read.counts
                self._set_aside(slice_, total("bad", read))
                rows = {number: {**each, "events": each["rows"]} for number, each in written.rows.counts.items()}
                ledger = steps.accounting.ledger(slice_, written.read.amount, read, rows, append_fates)
                reach("slice.write.after")
        except BaseException:
            written.files.drop()
            raise
        properties = steps.commit.properties(slice_, staging, ledger)
        with steps.errors.attributed(slice_):
            snapshot = steps.commit.perform(lambda: written.files.commit(staging.name, properties), slice_, staging)
        return SliceDone(snapshot, ledger)

    def _set_aside(self, slice_: Slice, bad: int) -> None:
        """Reads the slice a second time: bad records are few, and persisting all records would cost more."""
        if self.steps.quarantine.takes(bad):
            with persisted(bad_of(self.steps.decode(self.steps.source.read(slice_)))) as records:
                again = records.count()
                if again != bad:
                    raise self._disagreement(slice_, f"{bad} bad records in the first read, {again} in the second")
                self.steps.quarantine.set_aside(slice_, records, bad)

    def _require_agreement(self, slice_: Slice, written: WrittenFiles) -> None:
        """Raise LedgerError unless every row is in a file, and every record is of a partition that the slice reads."""
        for counter, what in ((written.read, "records"), (written.rows, "rows")):
            unplanned = sorted(set(counter.counts) - set(slice_.offsets))
            if unplanned:
                raise self._disagreement(slice_, f"{what} of partitions {unplanned}, which the slice does not read")
        rows, in_files = written.rows.counted, written.files.rows
        if rows != in_files:
            raise self._disagreement(slice_, f"{rows} rows written, {in_files} in its data files")

    def _disagreement(self, slice_: Slice, counts: str) -> LedgerError:
        return LedgerError(
            f"Counts of slice {slice_.id} disagree: {counts}.",
            state=UNSTAGED,
            command=f"anabranch retry {self.steps.job.run_id}",
            slice=slice_.id,
        )


def _drop(written: WrittenFiles | None) -> None:
    if written is not None:
        with suppress(Py4JError):  # if the JVM has ended, its error is reported already
            written.files.drop()
