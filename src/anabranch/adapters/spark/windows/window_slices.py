"""Writes one slice of windows on Spark: every event they are made of read, the windows computed whole, one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.iceberg.live import live_batches
from anabranch.adapters.spark.decode.decode import EVENT_TIME, REASON, TOMBSTONE, bad_of, decode, events_of
from anabranch.adapters.spark.transform.output_rows import WINDOW as ORIGIN
from anabranch.adapters.spark.transform.output_rows import align
from anabranch.adapters.spark.windows.windows import WINDOW, length, require_windows, start_within
from anabranch.adapters.spark.write.slices import SAFE, SparkSliceWriter, kept, read_counts, total
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.contract.event_window import EventWindow
from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Offsets, Slice, layers
from anabranch.plan.strategies.event_windows import events_needed
from anabranch.plan.target_range import EPOCH, PartitionRange
from anabranch.project.quantities import format_duration
from anabranch.replay.gaps import NO_GAP
from anabranch.replay.late import LISTED, LateEvent, LateEvents
from anabranch.replay.ledger import settle
from anabranch.replay.replayer import SliceDone, SlicePhase
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import Staging

NONE_DROPPED: Mapping[int, int] = {}
_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"


class SessionTooLongError(AnabranchError):
    code = "replay.session-too-long"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class WindowSliceWriter(SparkSliceWriter):
    """The slice's windows are computed from all that it reads; in the ledger it answers for its own offsets only."""

    def _write(self, slice_: Slice, staging: Staging, read_raw: Callable[[Slice], DataFrame]) -> SliceDone:
        window, partitions = self._declared(slice_)
        read_all = reduce(DataFrame.union, (read_raw(replace(slice_, offsets=each)) for each in layers(slice_.needed)))
        with self._explained(slice_), kept(decode(read_all, self.pipeline.spec)) as decoded:
            own = decoded.where(_within(slice_.offsets))
            read = read_counts(own, start_within(window, *micros(self._range))[1])
            self._set_aside(slice_, bad_of(own), total("bad", read))
            reach("slice.write.before")
            self._steps[slice_.id] = SlicePhase.WRITE
            with kept(self._windows(decoded, window, partitions)) as computed:
                # Only now, on what is computed and kept: Spark would move this filter below the adding up, where an
                # event is a session of its own, and cut off the beginnings of those that reach into the slice.
                rows = computed.where(starts_within(partitions))
                require_windows(rows, window, partitions.axis.column, SAFE)
                self._require_ended(rows, window, partitions)
                ledger = self._account(slice_, read, rows.count(), self._late(own, window))
                reach("slice.write.after")
                snapshot = self._commit(rows.drop(*ORIGIN), slice_, staging, ledger)
        return SliceDone(snapshot, ledger)

    def _declared(self, slice_: Slice) -> tuple[EventWindow, PartitionRange]:
        window = self.pipeline.spec.window
        if window is None or slice_.windows is None:
            raise AssertionError(f"slice {slice_.id} has no windows")
        return window, PartitionRange(self._range.axis, *slice_.windows)

    @property
    def _range(self) -> PartitionRange:
        partitions = self.plan.target.partitions
        if not isinstance(partitions, PartitionRange):
            raise TypeError(f"the plan of run {self.run_id} replaces no range")
        return partitions

    def _windows(self, decoded: DataFrame, window: EventWindow, partitions: PartitionRange) -> DataFrame:
        """The rows of all windows that the events are in. Those that begin outside the slice may lack events."""
        wanted = events_needed(window, partitions)
        events = events_of(decoded).where(
            (F.col(EVENT_TIME) >= F.lit(wanted.start)) & (F.col(EVENT_TIME) < F.lit(wanted.end))
        )
        columns = self.spark.table(spark_name(self.catalog, self.plan.target.table)).schema
        return align(self.transform(events), columns, keep=tuple(ORIGIN), origin=ORIGIN)

    def _require_ended(self, rows: DataFrame, window: EventWindow, partitions: PartitionRange) -> None:
        """A session that reaches the end of what was read may go on behind it."""
        if window.size is not None:
            return
        limit = events_needed(window, partitions).end
        open_ended = rows.where(F.col(f"{WINDOW}.end") > F.lit(limit)).select(F.col(WINDOW).cast("string")).first()
        if open_ended is not None:
            raise SessionTooLongError(
                f"The session {open_ended[0]} is longer than {format_duration(window.longest_window)} and may go on "
                "behind what "
                "the plan reads: its row would be incomplete.",
                state=SAFE,
                hint=f"write a longer window.longest in the pipeline, `anabranch cancel {self.run_id}`, plan anew",
            )

    def _account(
        self,
        slice_: Slice,
        read: Mapping[int, Mapping[str, int]],
        rows: int,
        late: LateEvents,
        dropped: Mapping[int, int] = NONE_DROPPED,
    ) -> SliceLedger:
        """`dropped` are those of the events in the range, by partition, that came too late for all of its windows."""
        gaps, scanned = self._explain_gaps(slice_, read)
        first = min(slice_.offsets)
        accounts = {
            partition: settle(
                *offsets,
                output=0,
                filtered=read.get(partition, {}).get("tombstones", 0) + dropped.get(partition, 0),
                out_of_range=read.get(partition, {}).get("out_of_range", 0),
                quarantined=read.get(partition, {}).get("bad", 0),
                windowed=read.get(partition, {}).get("in_range", 0) - dropped.get(partition, 0),
                # A window has events of several partitions: its rows are put down to the slice's first one.
                rows=rows if partition == first else 0,
                gap=gaps.get(partition, NO_GAP),
            )
            for partition, offsets in slice_.offsets.items()
        }
        self._require_balance(slice_, accounts)
        return SliceLedger(total("bytes", read) + scanned, accounts, late)

    def _late(self, own: DataFrame, window: EventWindow) -> LateEvents:
        """Of the slice's own events, those that live left out of a window of the range."""
        start, inside = start_within(window, *micros(self._range))
        table = self.catalog.open().load_table(self.plan.target.table)
        batches = [
            (partition, *offsets, batch.late_before)
            for batch in live_batches(table, self.plan.target.base, self.plan.pipeline)
            for partition, offsets in batch.offsets.items()
        ]
        told = self.spark.createDataFrame(batches, "p int, since bigint, until bigint, late_before bigint")
        events = own.where(F.col(REASON).isNull() & ~F.col(TOMBSTONE) & inside)
        place, since, until = F.col("_offset"), F.col("since"), F.col("until")
        at_batch = (F.col("p") == F.col("_partition")) & (place >= since) & (place < until)
        joined = events.join(F.broadcast(told), at_batch, "left")
        late = start + F.lit(length(window)) <= F.col("late_before") * 1000
        return listed(joined, late, untold=joined.where(F.col("p").isNull()).count())


def listed(events: DataFrame, late: Column, untold: int) -> LateEvents:
    """Those that are late, counted and the first of them by name; each has live's watermark as `late_before`."""
    count = events.where(late).count()
    if not count:
        return LateEvents(0, untold)
    watermark = F.timestamp_millis("late_before")
    shown = events.where(late).orderBy("_partition", "_offset").limit(LISTED)
    first = shown.select(
        "_partition", "_offset", F.date_format(EVENT_TIME, _MOMENT), F.date_format(watermark, _MOMENT)
    ).collect()
    return LateEvents(count, untold, tuple(LateEvent(*row) for row in first))


def starts_within(partitions: PartitionRange) -> Column:
    start = F.col(f"{WINDOW}.start")
    return (start >= F.lit(partitions.start)) & (start < F.lit(partitions.end))


def _within(offsets: Offsets) -> Column:
    pieces: Iterable[Column] = (
        (F.col("_partition") == partition) & (F.col("_offset") >= start) & (F.col("_offset") < end)
        for partition, (start, end) in offsets.items()
    )
    return reduce(or_, pieces, F.lit(False))


def micros(partitions: PartitionRange) -> tuple[int, int]:
    start, end = (round((moment - EPOCH).total_seconds()) * 1_000_000 for moment in (partitions.start, partitions.end))
    return start, end
