"""Which partitions of a table have rows, and how many: what a small replay may choose from. No JVM."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from pyiceberg.table import Table

from anabranch.adapters.iceberg.facts import usable_axis
from anabranch.adapters.iceberg.files import files_in, partition_number
from anabranch.plan.target_range import PartitionRange, everything, ordinal

LOOKED_AT = 48
"""Partitions before the newest event whose files are looked up, so that a long history costs no more than a short."""


def filled_partitions(table: Table, newest: datetime | None) -> tuple[tuple[PartitionRange, int], ...]:
    """The last partitions that have rows, the newest first, each with how many; `newest` is the newest event known."""
    axis, head = usable_axis(table), table.current_snapshot()
    if head is None:
        return ()
    last = None if newest is None else ordinal(axis.grain, newest)
    span = everything(axis)
    if last is not None:
        span = PartitionRange(axis, max(0, last - LOOKED_AT), last + 1)
    rows: Counter[int] = Counter()
    for file in files_in(table, head.snapshot_id, span).values():
        number = partition_number(table, file, axis)
        if number is not None:
            rows[number] += file.record_count
    return tuple(
        (PartitionRange(axis, number, number + 1), count) for number, count in sorted(rows.items(), reverse=True)
    )
