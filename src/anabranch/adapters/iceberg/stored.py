"""How much a part of a table takes in storage, by its own manifests. No JVM."""

from __future__ import annotations

from pyiceberg.table import Table

from anabranch.adapters.iceberg.files import rows_in
from anabranch.plan.axis import TargetPart
from anabranch.plan.cost import Stored


def stored(table: Table, snapshot: int, part: TargetPart) -> Stored:
    """Data files of the snapshot that hold rows of the part; nothing, if the snapshot has expired."""
    if table.snapshot_by_id(snapshot) is None:
        return Stored(0, 0)
    tasks = list(table.scan(row_filter=rows_in(table, part), snapshot_id=snapshot).plan_files())
    return Stored(len(tasks), sum(task.file.file_size_in_bytes for task in tasks))
