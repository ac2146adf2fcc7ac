"""Writes a slice of windows: reads all of their events, computes them completely, and makes one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.iceberg.live import live_batches
from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.adapters.spark.decode.decode import EVENT_TIME, REASON, TOMBSTONE, bad_of, events_of
from anabranch.adapters.spark.ports import ReadSlice
from anabranch.adapters.spark.transform.output_rows import WINDOW as ORIGIN
from anabranch.adapters.spark.transform.output_rows import align
from anabranch.adapters.spark.windows.windows import WINDOW, length, require_windows, start_within
from anabranch.adapters.spark.write.accounting import PartitionCounts, read_counts, total
from anabranch.adapters.spark.write.steps import SliceSteps, persisted
from anabranch.contract.event_window import EventWindow
from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Offsets, Slice, layers
from anabranch.plan.strategies.event_windows import events_needed
from anabranch.plan.target_range import EPOCH, PartitionRange
from anabranch.project.quantities import format_duration
from anabranch.replay.gaps import NO_GAP
from anabranch.replay.late import LISTED, LateEvent, LateEvents
from anabranch.replay.ledger import UNSTAGED, settle
from anabranch.replay.replayer import SliceDone, SlicePhase
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import Staging

NONE_DROPPED: Mapping[int, int] = {}
_ISO = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"


class SessionTooLongError(AnabranchError):
    code = "replay.session-too-long"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class WindowLedger:
    """The ledger of a slice of windows, which accounts for the slice's own offsets only."""

    steps: SliceSteps

    def of(
        self,
        slice_: Slice,
        read: PartitionCounts,
        rows: int,
        late: LateEvents,
        dropped: Mapping[int, int] = NONE_DROPPED,
    ) -> SliceLedger:
        """`dropped`: events in the range, by partition, that were late for all of their windows."""
        gaps, scanned = self.steps.accounting.explain_gaps(slice_, read)
        first = min(slice_.offsets)
        accounts = {
            partition: settle(
                *offsets,
                output=0,
                filtered=read.get(partition, {}).get("tombstones", 0) + dropped.get(partition, 0),
                out_of_range=read.get(partition, {}).get("out_of_range", 0),
                quarantined=read.get(partition, {}).get("bad", 0),
                windowed=read.get(partition, {}).get("in_range", 0) - dropped.get(partition, 0),
                # A window has events of several partitions: its rows are accounted to the slice's first one.
                rows=rows if partition == first else 0,
                gap=gaps.get(partition, NO_GAP),
            )
            for partition, offsets in slice_.offsets.items()
        }
        self.steps.accounting.require_balance(slice_, accounts)
        return SliceLedger(total("bytes", read) + scanned, accounts, late)


@dataclass(frozen=True)
class WindowWriter:
    """Computes the slice's windows from all records that it reads; the ledger has its own offsets only."""

    steps: SliceSteps

    def records_to_read(self, slice_: Slice) -> int:
        return sum(end - start for ranges in slice_.needed.values() for start, end in ranges)

    def write(self, slice_: Slice, staging: Staging, read: ReadSlice) -> SliceDone:
        steps = self.steps
        window, partitions = self._declared(slice_)
        records = reduce(DataFrame.union, (read(replace(slice_, offsets=each)) for each in layers(slice_.needed)))
        with steps.errors.attributed(slice_), persisted(steps.decode(records)) as decoded:
            own = decoded.where(_within(slice_.offsets))
            counts = read_counts(own, start_within(window, *micros(steps.job.partitions))[1])
            steps.quarantine.set_aside(slice_, bad_of(own), total("bad", counts))
            reach("slice.write.before")
            steps.progress.enter(slice_, SlicePhase.WRITE)
            with persisted(self._windows(decoded, window, partitions)) as computed:
                # On persisted windows: otherwise Spark would push this filter below the aggregation, where each event
                # is a session, and cut off sessions that begin before the slice.
                rows = computed.where(starts_within(partitions))
                require_windows(rows, window, partitions.axis.column, UNSTAGED)
                self._require_ended(rows, window, partitions)
                ledger = WindowLedger(steps).of(slice_, counts, rows.count(), self._late(own, window))
                reach("slice.write.after")
                snapshot = steps.commit.append(rows.drop(*ORIGIN), slice_, staging, ledger)
        return SliceDone(snapshot, ledger)

    def _declared(self, slice_: Slice) -> tuple[EventWindow, PartitionRange]:
        window = self.steps.job.pipeline.spec.window
        if window is None or slice_.windows is None:
            raise AssertionError(f"slice {slice_.id} has no windows")
        return window, PartitionRange(self.steps.job.partitions.axis, *slice_.windows)

    def _windows(self, decoded: DataFrame, window: EventWindow, partitions: PartitionRange) -> DataFrame:
        """The rows of all windows of these events. Windows that begin outside the slice may be incomplete."""
        job, wanted = self.steps.job, events_needed(window, partitions)
        events = events_of(decoded).where(
            (F.col(EVENT_TIME) >= F.lit(wanted.start)) & (F.col(EVENT_TIME) < F.lit(wanted.end))
        )
        return align(job.transform(events), job.columns, keep=tuple(ORIGIN), origin=ORIGIN)

    def _require_ended(self, rows: DataFrame, window: EventWindow, partitions: PartitionRange) -> None:
        """Raise SessionTooLongError for a session that reaches the end of the events read: it may be incomplete."""
        if window.size is not None:
            return
        limit = events_needed(window, partitions).end
        open_ended = rows.where(F.col(f"{WINDOW}.end") > F.lit(limit)).select(F.col(WINDOW).cast("string")).first()
        if open_ended is not None:
            raise SessionTooLongError(
                f"Session {open_ended[0]} is longer than {format_duration(window.longest_window)} and may continue "
                "beyond the offsets that the plan reads: its row would be incomplete.",
                state=UNSTAGED,
                command=f"anabranch cancel {self.steps.job.run_id}",
                hint="cancel the run, write a longer window.longest in the pipeline, plan again",
            )

    def _late(self, own: DataFrame, window: EventWindow) -> LateEvents:
        """The slice's own events that live dropped from a window of the range."""
        job = self.steps.job
        start, inside = start_within(window, *micros(job.partitions))
        table = job.catalog.open().load_table(job.plan.target.table)
        batches = [
            (partition, *offsets, batch.late_before)
            for batch in live_batches(table, snapshot_of(job.plan.target.base), job.plan.pipeline)
            for partition, offsets in batch.offsets.items()
        ]
        watermarks = job.spark.createDataFrame(batches, "p int, since bigint, until bigint, late_before bigint")
        events = own.where(F.col(REASON).isNull() & ~F.col(TOMBSTONE) & inside)
        offset, since, until = F.col("_offset"), F.col("since"), F.col("until")
        at_batch = (F.col("p") == F.col("_partition")) & (offset >= since) & (offset < until)
        joined = events.join(F.broadcast(watermarks), at_batch, "left")
        late = start + F.lit(length(window)) <= F.col("late_before") * 1000
        return late_events(joined, late, undecided=joined.where(F.col("p").isNull()).count())


def late_events(events: DataFrame, late: Column, undecided: int) -> LateEvents:
    """The late events: their number and the first of them. Each has live's watermark as `late_before`."""
    count = events.where(late).count()
    if not count:
        return LateEvents(0, undecided)
    watermark = F.timestamp_millis("late_before")
    shown = events.where(late).orderBy("_partition", "_offset").limit(LISTED)
    first = shown.select(
        "_partition", "_offset", F.date_format(EVENT_TIME, _ISO), F.date_format(watermark, _ISO)
    ).collect()
    return LateEvents(count, undecided, tuple(LateEvent(*row) for row in first))


def starts_within(partitions: PartitionRange) -> Column:
    start = F.col(f"{WINDOW}.start")
    return (start >= F.lit(partitions.start)) & (start < F.lit(partitions.end))


def _within(offsets: Offsets) -> Column:
    ranges: Iterable[Column] = (
        (F.col("_partition") == partition) & (F.col("_offset") >= start) & (F.col("_offset") < end)
        for partition, (start, end) in offsets.items()
    )
    return reduce(or_, ranges, F.lit(False))


def micros(partitions: PartitionRange) -> tuple[int, int]:
    start, end = (round((moment - EPOCH).total_seconds()) * 1_000_000 for moment in (partitions.start, partitions.end))
    return start, end
