"""The ports of slice writing: source, decoder, writer. A run has one of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyspark.sql import DataFrame

from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone
from anabranch.replay.staging import Staging

ReadSlice = Callable[[Slice], DataFrame]
"""The records at a slice's own offsets, in the columns of Spark's Kafka source."""


class SliceSource(Protocol):
    """Reads the records of a slice. Commits no offset; what it reads counts towards the run's byte rate."""

    def limit(self, bytes_per_second: int | None) -> None:
        """Limit all reading from now on, of current slices too. Thread-safe."""

    def read(self, slice_: Slice) -> DataFrame:
        """Every visible record at the slice's own offsets, once each time the frame is computed.

        Computing it fails if an offset was deleted; no record is skipped silently.
        """

    def read_via_driver(self, slice_: Slice) -> DataFrame:
        """The same records through the driver; null for a timestamp that `read` fails on."""

    def records_read(self, slice_: Slice) -> int:
        """Number of records of the slice read so far; repeated reads count again."""

    @property
    def bytes_read(self) -> int:
        """Bytes of keys and values that this process has read for the run."""

    @property
    def throttled_ms(self) -> float:
        """The longest that brokers throttled one of the run's fetches within about a minute; 0: none was seen."""


class Decoder(Protocol):
    """Turns records into events. Two decoders of one format give the same rows for the same records."""

    def __call__(self, records: DataFrame) -> DataFrame:
        """One row per record: the declared columns, the coordinates, and `_reason` where the record is bad.

        No record fails the job or is dropped: an undecodable record is marked bad, with the reason.
        """


class RowWriter(Protocol):
    """Turns the records of a slice into rows of staging."""

    def records_to_read(self, slice_: Slice) -> int:
        """Number of records that `write` reads, if every offset has one."""

    def write(self, slice_: Slice, staging: Staging, read: ReadSlice) -> SliceDone:
        """Commit the slice's rows and its ledger to the staging branch in one commit, or change nothing there.

        Bad records are quarantined before that commit, exactly once across retries. A commit whose response was lost
        is looked up by the slice's id and not repeated. Raises SliceFailedError if Spark, Kafka or the
        table fail, TransformFailedError for the user's code, LedgerError if an offset is not accounted for.
        """
