"""Writes one slice of a table that only grows, in one pass: files first, counted on the way, then one commit."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.spark.decode.decode import BYTES, REASON, TOMBSTONE, bad_of, decode
from anabranch.adapters.spark.source.driver_reader import is_timestamp_overflow
from anabranch.adapters.spark.source.kafka_source import offset_options, rate_options
from anabranch.adapters.spark.transform.output_rows import COORDINATES
from anabranch.adapters.spark.write.data_files import DataFiles, FilesTemplate, PlannedFiles
from anabranch.adapters.spark.write.prefetch import Prefetch
from anabranch.adapters.spark.write.record_counter import CountSpec, RecordCounter
from anabranch.adapters.spark.write.slices import (
    SAFE,
    SliceFailedError,
    SparkSliceWriter,
    appended,
    kept,
    total,
)
from anabranch.crashpoints import reach
from anabranch.plan.slices import Slice
from anabranch.replay.ledger import LedgerError
from anabranch.replay.replayer import SliceDone
from anabranch.replay.staging import Staging

READ = ("in_range", "out_of_range", "bad", "tombstones")
"""What a record can be, in the order of the tally's numbers."""
ROWS = ("rows", "strays")
"""What a row can be: in the range, or outside."""
_ONE_ROW_AT_MOST = frozenset({"Project", "Filter", "SubqueryAlias", "View"})


@dataclass(frozen=True)
class AppendSliceWriter(SparkSliceWriter):
    @cached_property
    def _ahead(self) -> Prefetch[SliceQuery | None, WrittenFiles | None]:
        return Prefetch(self._query, self._write_files)

    def prepare(self, slice_: Slice) -> None:
        with self._explained(slice_):
            self._template(slice_)

    def begin(self, slice_: Slice) -> None:
        self._ahead.begin(slice_)

    def await_read(self, slice_: Slice) -> None:
        self._ahead.await_made(slice_)

    def let_go(self) -> None:
        self._ahead.let_go(_drop)

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        self.begin(slice_)
        written = self._ahead.take(slice_)
        if written is not None and total("strays", written.rows.counts):
            written.files.drop()
            written = None  # going over it again finds one of them, and says where it comes from
        return super().write(slice_, staging) if written is None else self._commit_files(slice_, staging, written)

    def _write_files(self, slice_: Slice, query: SliceQuery | None) -> WrittenFiles | None:
        """The slice's files, counted; None where one pass does not do, because an event may give several rows.

        Then, and when there is something to be explained, the slice is gone over as often as it takes.
        """
        if query is None:
            return None
        try:
            with self._explained(slice_):
                reach("slice.write.before")
                return WrittenFiles(query.planned.write(), query.read, query.rows)
        except SliceFailedError as failed:
            if is_timestamp_overflow(failed.__cause__):
                return None
            raise

    def _query(self, slice_: Slice) -> SliceQuery | None:
        with self._explained(slice_):
            template = self._template(slice_)
            if template is None:
                return None
            read, rows = self._tallies(slice_)
            instead = dict((read.instead_of(template.read), rows.instead_of(template.rows)))
            source = {
                **rate_options(self.client_id, self.meter.rate, len(slice_.offsets)),
                **offset_options(self.plan.source.topic, slice_.offsets),
            }
            planned = template.files.planned(source, instead, client=self.client_id, name=self._metered_as(slice_))
            return SliceQuery(planned, read, rows)

    def _template(self, slice_: Slice) -> Template | None:
        """The query of all slices, put together for the first one that comes."""
        if not self._templates:
            read, rows = self._tallies(slice_)
            asked_first, asked_then = self._asked
            # Not metered by a filter: our reader of each slice does that itself.
            counted = read.on(decode(self._read_freely(slice_), self.pipeline.spec), asked_first)
            made = self._rows(counted)
            found = None
            if one_row_at_most(made, counted):
                counted_rows = rows.on(made, asked_then).drop(*COORDINATES)
                files = FilesTemplate(counted_rows, self.catalog, self.plan.target.table)
                found = Template(files, read, rows) if files.takes_offsets else None
            self._templates.append(found)
        return self._templates[0]

    @cached_property
    def _templates(self) -> list[Template | None]:
        """Empty before anybody asked, and then the one, or None where one pass does not do."""
        return []

    def _tallies(self, slice_: Slice) -> tuple[RecordCounter, RecordCounter]:
        read, rows = (RecordCounter(self.spark, tuple(slice_.offsets), kinds) for kinds in (READ, ROWS))
        return read, rows

    @cached_property
    def _asked(self) -> tuple[CountSpec, CountSpec]:
        """What is counted of a slice's records, and of its rows. The same for all slices."""
        inside = F.coalesce(self._inside(), F.lit(False))
        kind = F.when(inside, ROWS.index("rows")).otherwise(ROWS.index("strays"))
        return CountSpec.of(len(READ), self._kind(), F.col(BYTES)), CountSpec.of(len(ROWS), kind)

    def _commit_files(self, slice_: Slice, staging: Staging, written: WrittenFiles) -> SliceDone:
        """One commit with the files and the ledger, or none. What does not agree is not left behind."""
        try:
            with self._explained(slice_):
                self._require_agreement(slice_, written)
                read = written.read.counts
                self._set_aside_anew(slice_, total("bad", read))
                rows = {number: {**each, "events": each["rows"]} for number, each in written.rows.counts.items()}
                ledger = self._ledger(slice_, written.read.amount, read, rows, appended)
                reach("slice.write.after")
        except BaseException:
            written.files.drop()
            raise
        said = self._said(slice_, staging, ledger)
        with self._explained(slice_):
            snapshot = self._land(lambda: written.files.commit(staging.name, said), slice_, staging)
        return SliceDone(snapshot, ledger)

    def _kind(self) -> Column:
        """Which of `READ` a record is."""
        return (
            F.when(F.col(TOMBSTONE), READ.index("tombstones"))
            .when(F.col(REASON).isNotNull(), READ.index("bad"))
            .when(self._in_range, READ.index("in_range"))
            .otherwise(READ.index("out_of_range"))
        )

    def _set_aside_anew(self, slice_: Slice, bad: int) -> None:
        """Bad records are few: they are read once more rather than all records kept for their sake."""
        if self._sets_aside(bad):
            with kept(bad_of(decode(self._read(slice_), self.pipeline.spec))) as found:
                again = found.count()
                if again != bad:
                    raise self._unlike(slice_, f"{bad} bad records when it was read first, and {again} then")
                self._set_aside(slice_, found, bad)

    def _require_agreement(self, slice_: Slice, written: WrittenFiles) -> None:
        """Every row is in a file and every record was counted, by the partitions that were read and no others."""
        for tally, what in ((written.read, "records"), (written.rows, "rows")):
            strange = sorted(set(tally.counts) - set(slice_.offsets))
            if strange:
                raise self._unlike(slice_, f"{what} of partitions {strange}, which it does not read")
        rows, in_files = written.rows.counted, written.files.rows
        if rows != in_files:
            raise self._unlike(slice_, f"{rows} rows by the count, and {in_files} in its files")

    def _unlike(self, slice_: Slice, what: str) -> LedgerError:
        return LedgerError(
            f"Slice {slice_.id} had {what}.",
            state=SAFE,
            command=f"anabranch retry {self.run_id}",
            slice=slice_.id,
        )


@dataclass(frozen=True)
class Template:
    """What all slices have in common. Its tallies never count."""

    files: FilesTemplate
    read: RecordCounter
    rows: RecordCounter


@dataclass(frozen=True)
class SliceQuery:
    """A slice's rows, and what is counted of them, once somebody writes them."""

    planned: PlannedFiles
    read: RecordCounter
    rows: RecordCounter


@dataclass(frozen=True)
class WrittenFiles:
    """All of a slice but its commit."""

    files: DataFiles
    read: RecordCounter
    rows: RecordCounter


def _drop(written: WrittenFiles | None) -> None:
    if written is not None:
        with suppress(Py4JError):  # nobody needs them; where the JVM is gone, there is more to tell than that
            written.files.drop()


def one_row_at_most(rows: DataFrame, events: DataFrame) -> bool:
    """Whether no event can give two rows: from the events up, the plan of the rows only chooses columns and rows."""
    node, floor = (frame._jdf.queryExecution().analyzed() for frame in (rows, events))
    while node != floor:
        if node.nodeName() not in _ONE_ROW_AT_MOST:
            return False
        node = node.children().head()
    return True
