"""How much a part of a table takes in storage, by its own manifests. No JVM."""

from __future__ import annotations

from pyiceberg.table import Table

from anabranch.adapters.iceberg.files import files_in, partition_number, rows_in
from anabranch.plan.forecast.cost import Stored
from anabranch.plan.target_range import PartitionRange, TargetPart


def stored(table: Table, snapshot: int, part: TargetPart) -> Stored:
    """Data files of the snapshot that hold rows of the part; nothing, if the snapshot has expired."""
    if table.snapshot_by_id(snapshot) is None:
        return Stored(0, 0)
    tasks = list(table.scan(row_filter=rows_in(table, part), snapshot_id=snapshot).plan_files())
    return Stored(len(tasks), sum(task.file.file_size_in_bytes for task in tasks))


def filled(table: Table, snapshot: int, part: TargetPart) -> TargetPart:
    """The smallest part that has all rows of `part` in this snapshot; of a whole table, all of it."""
    if not isinstance(part, PartitionRange):
        return part
    files = files_in(table, snapshot, part).values()
    numbers = [number for file in files if (number := partition_number(table, file, part.axis)) is not None]
    return PartitionRange(part.axis, min(numbers), max(numbers) + 1) if numbers else part
