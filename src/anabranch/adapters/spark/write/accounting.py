"""The ledger of a slice: every offset has exactly one fate, or the slice is not committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.kafka.log_scan import ScanPace
from anabranch.adapters.kafka.slice_gaps import SliceGaps
from anabranch.adapters.spark.decode.decode import BYTES, REASON, TOMBSTONE
from anabranch.adapters.spark.keyed.changes import Fates
from anabranch.adapters.spark.source.slice_source import KafkaSliceSource
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.plan.slices import Slice
from anabranch.replay.gaps import NO_GAP, Gap
from anabranch.replay.ledger import UNSTAGED, Account, LedgerError, settle
from anabranch.replay.slice_ledger import SliceLedger

PartitionCounts = Mapping[int, Mapping[str, int]]
CountFates = Callable[[Mapping[str, int], Mapping[str, int]], Fates]
"""The account of a partition, from its records and rows."""


@dataclass(frozen=True)
class SliceAccounting:
    job: SliceJob
    source: KafkaSliceSource

    def ledger(
        self, slice_: Slice, bytes_read: int, read: PartitionCounts, rows: PartitionCounts, fates: CountFates
    ) -> SliceLedger:
        """The slice's ledger. Raises LedgerError if an offset has no fate, or more than one."""
        gaps, scanned = self.explain_gaps(slice_, read)
        accounts = {
            partition: _account(
                slice_.offsets[partition],
                read.get(partition, {}),
                rows.get(partition, {}).get("rows", 0),
                fates(read.get(partition, {}), rows.get(partition, {})),
                gaps.get(partition, NO_GAP),
            )
            for partition in slice_.offsets
        }
        self.require_balance(slice_, accounts)
        return SliceLedger(bytes_read + scanned, accounts)

    def explain_gaps(self, slice_: Slice, read: PartitionCounts) -> tuple[Mapping[int, Gap], int]:
        """The offsets without a record by partition and fate, and the bytes read to explain them."""
        counted = {partition: _records(read.get(partition, {})) for partition in slice_.offsets}
        # The scan reads from the same brokers, so it is metered too.
        pace = ScanPace(fetched=lambda size: self.source.count_read(slice_, 0, size))
        job = self.job
        return SliceGaps(job.kafka, job.client_id, job.plan.source, job.run_id, pace).explain(slice_, counted)

    def require_balance(self, slice_: Slice, accounts: Mapping[int, Account]) -> None:
        for partition, account in accounts.items():
            if not account.balances or account.lost:
                fates = ", ".join(f"{fate} {count}" for fate, count in account.fates.items() if count)
                raise LedgerError(
                    f"Slice {slice_.id}, partition {partition}: the ledger does not balance: {account.offsets} offsets "
                    f"planned, {sum(account.fates.values())} counted ({fates}), {account.rows} rows.",
                    state=UNSTAGED,
                    command=f"anabranch retry {self.job.run_id}",
                    slice=slice_.id,
                    partition=partition,
                )


def read_counts(decoded: DataFrame, in_range: Column) -> dict[int, dict[str, int]]:
    """By partition: bytes read, and the numbers of bad records, tombstones, and events inside and outside the range."""
    good = F.col(REASON).isNull() & ~F.col(TOMBSTONE)
    counts = decoded.groupBy("_partition").agg(
        F.sum(BYTES).alias("bytes"),
        F.count_if(F.col(REASON).isNotNull()).alias("bad"),
        F.count_if(F.col(TOMBSTONE)).alias("tombstones"),
        F.count_if(good & in_range).alias("in_range"),
        F.count_if(good & ~in_range).alias("out_of_range"),
    )
    return {row["_partition"]: row.asDict() for row in counts.collect()}


def row_counts(rows: DataFrame) -> dict[int, dict[str, int]]:
    """By partition: rows, and the number of distinct events that gave them."""
    counts = rows.groupBy("_partition").agg(F.count("*").alias("rows"), F.count_distinct("_offset").alias("events"))
    return {row["_partition"]: row.asDict() for row in counts.collect()}


def total(kind: str, counts: PartitionCounts) -> int:
    return sum(each[kind] for each in counts.values())


def append_fates(read: Mapping[str, int], rows: Mapping[str, int]) -> Fates:
    """The account of events that each give rows. A tombstone gives none."""
    output = rows.get("events", 0)
    return Fates(output, read.get("in_range", 0) - output + read.get("tombstones", 0), 0)


def _records(read: Mapping[str, int]) -> int:
    """Number of counted records of all kinds."""
    return sum(read.get(kind, 0) for kind in ("bad", "tombstones", "in_range", "out_of_range"))


def _account(offsets: tuple[int, int], read: Mapping[str, int], rows: int, fates: Fates, gap: Gap) -> Account:
    return settle(
        *offsets,
        output=fates.output,
        filtered=fates.filtered,
        superseded=fates.superseded,
        out_of_range=read.get("out_of_range", 0),
        quarantined=read.get("bad", 0),
        rows=rows,
        gap=gap,
    )
