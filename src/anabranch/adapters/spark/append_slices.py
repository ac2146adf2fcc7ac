"""Writes one slice of a table that only grows, in one pass: files first, counted on the way, then one commit."""

from __future__ import annotations

from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.spark.data_files import DataFiles, write_files
from anabranch.adapters.spark.decode import BYTES, REASON, TOMBSTONE, bad_of, decode
from anabranch.adapters.spark.plain_reader import died_of_a_timestamp
from anabranch.adapters.spark.rows import COORDINATES
from anabranch.adapters.spark.slices import (
    SAFE,
    LedgerError,
    PartitionCounts,
    SliceFailedError,
    SparkSliceWriter,
    appended,
    kept,
)
from anabranch.adapters.spark.tally import Tally
from anabranch.crashpoints import reach
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone
from anabranch.replay.staging import Staging

READ = ("in_range", "out_of_range", "bad", "tombstones")
"""What a record can be, in the order of the tally's numbers."""
_ONE_ROW_AT_MOST = frozenset({"Project", "Filter", "SubqueryAlias", "View"})
_COUNTED = "CollectMetrics"


@dataclass(frozen=True)
class AppendSliceWriter(SparkSliceWriter):
    def write(self, piece: Slice, staging: Staging) -> SliceDone:
        prepared = self._prepare(piece)
        if prepared is None:
            return super().write(piece, staging)
        if prepared.strays:
            prepared.files.drop()
            return super().write(piece, staging)  # which finds one of them, and says where it comes from
        return self._commit_files(piece, staging, prepared)

    def _prepare(self, piece: Slice) -> Prepared | None:
        """The slice's files; None where one pass does not do, because an event may give several rows.

        Then, and when there is something to be explained, the slice is gone over as often as it takes.
        """
        read, rows = (Tally(tuple(piece.offsets), kinds) for kinds in (READ, ("rows",)))
        try:
            with self._explained(piece):
                counted = read.on(decode(self._read(piece), self.pipeline.spec), self._kind(), bytes=F.col(BYTES))
                made = self._rows(counted)
                if not one_row_at_most(made):
                    return None
                reach("slice.write.before")
                strays = F.when(F.coalesce(self._inside(), F.lit(False)), 0).otherwise(1)
                written = rows.on(made, F.lit(0), strays=strays).drop(*COORDINATES)
                files = write_files(written, self.catalog, self.plan.target.table)
        except SliceFailedError as failed:
            if died_of_a_timestamp(failed.__cause__):
                return None
            raise
        ours = {partition: {"rows": each["rows"], "events": each["rows"]} for partition, each in rows.counts.items()}
        return Prepared(files, read.sum("bytes"), read.counts, ours, rows.sum("strays"))

    def _commit_files(self, piece: Slice, staging: Staging, prepared: Prepared) -> SliceDone:
        """One commit with the files and the ledger, or none. What is not committed is not left behind."""
        try:
            with self._explained(piece):
                self._set_aside_anew(piece, sum(counts["bad"] for counts in prepared.read.values()))
                ledger = self._ledger(piece, prepared.bytes, prepared.read, prepared.rows, appended)
                self._require_written(piece, prepared)
                reach("slice.write.after")
        except BaseException:
            prepared.files.drop()
            raise
        said = self._said(piece, staging, ledger)
        reach("slice.commit.before")
        with self._explained(piece):
            try:
                prepared.files.commit(staging.branch, said)
            except (PySparkException, Py4JError):
                # The answer may have been lost after the commit was made; the branch knows.
                if self._landed(piece, staging) is None:
                    raise
        reach("slice.commit.after")
        return SliceDone(self._require_landed(piece, staging), ledger)

    def _kind(self) -> Column:
        """Which of `READ` a record is."""
        return (
            F.when(F.col(TOMBSTONE), READ.index("tombstones"))
            .when(F.col(REASON).isNotNull(), READ.index("bad"))
            .when(self._in_range(), READ.index("in_range"))
            .otherwise(READ.index("out_of_range"))
        )

    def _set_aside_anew(self, piece: Slice, bad: int) -> None:
        """Bad records are few: they are read once more rather than all records kept for their sake."""
        if not bad or not self.set_aside or self.control:
            return
        with kept(bad_of(decode(self._read(piece), self.pipeline.spec))) as found:
            if found.count() != bad:
                raise self._unlike(piece, f"{bad} bad records when it was read first, and {found.count()} then")
            self._set_aside(piece, found, bad)

    def _require_written(self, piece: Slice, prepared: Prepared) -> None:
        counted = sum(counts["rows"] for counts in prepared.rows.values())
        if prepared.files.rows != counted:
            raise self._unlike(piece, f"{counted} rows by the count, and {prepared.files.rows} in its files")

    def _unlike(self, piece: Slice, what: str) -> LedgerError:
        return LedgerError(
            f"Slice {piece.id} had {what}.",
            untouched=SAFE,
            next_step=f"anabranch retry {self.run_id}",
            slice=piece.id,
        )


@dataclass(frozen=True)
class Prepared:
    """All of a slice but its commit."""

    files: DataFiles
    bytes: int
    read: PartitionCounts
    rows: PartitionCounts
    strays: int
    """Rows outside the range."""


def one_row_at_most(rows: DataFrame) -> bool:
    """Whether no event can give two rows: from the counted records up, its plan only chooses columns and rows."""
    node = rows._jdf.queryExecution().analyzed()
    while node.nodeName() in _ONE_ROW_AT_MOST:
        node = node.children().head()
    return bool(node.nodeName() == _COUNTED)
