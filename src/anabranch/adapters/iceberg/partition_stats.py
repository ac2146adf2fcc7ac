"""Row counts and sizes of a table's partitions, from its manifests. No JVM."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from pyiceberg.table import Table

from anabranch.adapters.iceberg.facts import usable_axis
from anabranch.adapters.iceberg.files import files_in, partition_number, rows_in
from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.plan.forecast.cost import Stored
from anabranch.plan.target_range import PartitionRange, TargetPart, everything, ordinal
from anabranch.runs.heads import Head

PARTITIONS_SEARCHED = 48
"""How many partitions before the newest event are searched, so that the cost does not grow with the history."""


def filled_partitions(table: Table, newest: datetime | None) -> tuple[tuple[PartitionRange, int], ...]:
    """The last partitions that have rows, newest first, each with its row count. `newest` is the newest known event."""
    axis, head = usable_axis(table), table.current_snapshot()
    if head is None:
        return ()
    last = None if newest is None else ordinal(axis.grain, newest)
    span = everything(axis)
    if last is not None:
        span = PartitionRange(axis, max(0, last - PARTITIONS_SEARCHED), last + 1)
    rows: Counter[int] = Counter()
    for file in files_in(table, head.snapshot_id, span).values():
        number = partition_number(table, file, axis)
        if number is not None:
            rows[number] += file.record_count
    return tuple(
        (PartitionRange(axis, number, number + 1), count) for number, count in sorted(rows.items(), reverse=True)
    )


def smallest_range(table: Table, snapshot: int, part: TargetPart) -> TargetPart:
    """The smallest range that has all rows of `part` in this snapshot; a whole table is returned as it is."""
    if not isinstance(part, PartitionRange):
        return part
    files = files_in(table, snapshot, part).values()
    numbers = [number for file in files if (number := partition_number(table, file, part.axis)) is not None]
    return PartitionRange(part.axis, min(numbers), max(numbers) + 1) if numbers else part


def stored_size(table: Table, head: Head | None, part: TargetPart) -> Stored:
    """Number and bytes of the head's data files with rows of the part; zero without one, or if it has expired."""
    if head is None or table.snapshot_by_id(snapshot_of(head)) is None:
        return Stored(0, 0)
    tasks = list(table.scan(row_filter=rows_in(table, part), snapshot_id=snapshot_of(head)).plan_files())
    return Stored(len(tasks), sum(task.file.file_size_in_bytes for task in tasks))
