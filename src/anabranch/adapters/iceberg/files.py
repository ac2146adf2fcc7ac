"""Data files of a table inside and outside a range of its partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, GreaterThanOrEqual, LessThan, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import DayTransform, HourTransform, MonthTransform, Transform, YearTransform
from pyiceberg.types import TimestamptzType

from anabranch.adapters.iceberg.manifests import Spans, entries_of, live_entries, manifests_of, may_hold, within
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.target_range import Grain, PartitionRange, TargetPart, TimeAxis, WholeTable
from anabranch.runs.heads import Piece

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile

_GRAINS: dict[type[Transform[object, int]], Grain] = {
    HourTransform: Grain.HOUR,
    DayTransform: Grain.DAY,
    MonthTransform: Grain.MONTH,
    YearTransform: Grain.YEAR,
}


class NotPartitionedByTimeError(AnabranchError):
    code = "target.not-partitioned-by-time"
    exit_code = ExitCode.REFUSED


class RowDeletesError(AnabranchError):
    code = "target.row-deletes"
    exit_code = ExitCode.REFUSED


class StraddlingFileError(AnabranchError):
    code = "target.straddling-file"
    exit_code = ExitCode.REFUSED


def time_axis(table: Table) -> TimeAxis:
    """The time column of the partitioning and the width of a partition. Raises NotPartitionedByTimeError."""
    for field in table.spec().fields:
        grain = _GRAINS.get(type(field.transform))
        if grain is not None:
            return TimeAxis(table.schema().find_field(field.source_id).name, grain)
    raise NotPartitionedByTimeError(
        f"Table {'.'.join(table.name())} is not partitioned by the hour, day, month or year of a time column.",
        state=NOTHING_CHANGED,
        hint="Partition the target by time: a range is replaced as whole partitions",
    )


def rows_in(table: Table, partitions: TargetPart) -> BooleanExpression:
    """A filter for the rows of the range. Bounds have a time zone if the column has one."""
    if isinstance(partitions, WholeTable):
        return AlwaysTrue()
    zoned = isinstance(table.schema().find_field(partitions.axis.column).field_type, TimestamptzType)
    start, end = (
        moment.isoformat() if zoned else moment.replace(tzinfo=None).isoformat()
        for moment in (partitions.start, partitions.end)
    )
    column = Reference(partitions.axis.column)
    return And(GreaterThanOrEqual(term=column, value=literal(start)), LessThan(term=column, value=literal(end)))


def files_in(table: Table, snapshot: int, partitions: TargetPart) -> dict[str, DataFile]:
    """Data files of `snapshot` in the range, by path. Raises StraddlingFileError for a file that is partly inside."""
    found = table.snapshot_by_id(snapshot)
    if found is None:
        raise ValueError(f"{'.'.join(table.name())} has no snapshot {snapshot}")
    manifests = manifests_of(found, table.io)
    span_of = {spec: _spans(table, spec, partitions) for spec in {each.partition_spec_id for each in manifests}}
    spans = {spec: span for spec, span in span_of.items() if span is not None}
    if len(spans) < len(span_of) or any(each.content is not ManifestContent.DATA for each in manifests):
        return _scanned(table, snapshot, partitions)
    near = [each for each in manifests if may_hold(each, spans[each.partition_spec_id])]
    return {
        entry.data_file.file_path: entry.data_file
        for manifest, entries in live_entries(near, table.io)
        for entry in entries
        if within(spans[manifest.partition_spec_id], entry.data_file)
    }


def _spans(table: Table, spec: int, partitions: TargetPart) -> Spans | None:
    """The range in this partition spec; None if the spec has no field for it."""
    if isinstance(partitions, WholeTable):
        return {}
    position = _position(table, spec, partitions.axis)
    return None if position is None else {position: (partitions.first, partitions.after - 1)}


def _scanned(table: Table, snapshot: int, partitions: TargetPart) -> dict[str, DataFile]:
    """By a scan: slower, for tables with row-level deletes or files of other partition specs."""
    found: dict[str, DataFile] = {}
    for task in table.scan(row_filter=rows_in(table, partitions), snapshot_id=snapshot).plan_files():
        if task.delete_files:
            raise RowDeletesError(
                f"The range of {'.'.join(table.name())} contains row-level delete files; data files with deletes "
                f"cannot be promoted.",
                state=NOTHING_CHANGED,
                hint="Compact the range with `CALL …system.rewrite_data_files`, then plan again",
            )
        if isinstance(partitions, PartitionRange):
            _require_inside(table, task.file, partitions)
        found[task.file.file_path] = task.file
    return found


@dataclass(frozen=True)
class Changed:
    """Data files that one commit added to the range and removed from it, by path."""

    added: frozenset[Piece]
    removed: frozenset[Piece]


def changed_in(table: Table, snapshot: Snapshot, partitions: TargetPart) -> Changed:
    """Read from the manifests that the commit wrote, so that the cost does not grow with the history.

    A file of unknown partition and a row-level delete count as inside the range, so that no change is missed.
    """
    added: set[Piece] = set()
    removed: set[Piece] = set()
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in entries_of(manifest, table.io):
            if entry.snapshot_id != snapshot.snapshot_id or entry.status is ManifestEntryStatus.EXISTING:
                continue
            if _may_be_inside(table, entry.data_file, partitions):
                is_new_row_data = entry.data_file.content is DataFileContent.DATA
                is_added = entry.status is ManifestEntryStatus.ADDED and is_new_row_data
                (added if is_added else removed).add(Piece(entry.data_file.file_path))
    return Changed(frozenset(added), frozenset(removed))


def _may_be_inside(table: Table, file: DataFile, partitions: TargetPart) -> bool:
    if isinstance(partitions, WholeTable):
        return True
    number = partition_number(table, file, partitions.axis)
    return number is None or number in partitions


def _require_inside(table: Table, file: DataFile, partitions: PartitionRange) -> None:
    """Raise StraddlingFileError for a file of another partition spec: it may have rows outside the range."""
    number = partition_number(table, file, partitions.axis)
    if number is None or number not in partitions:
        raise StraddlingFileError(
            f"Data file {file.file_path} has another partition spec and may contain rows outside the range.",
            state=NOTHING_CHANGED,
            hint="Rewrite the table with its current partition spec (`CALL …rewrite_data_files`), then plan again",
        )


def partition_number(table: Table, file: DataFile, axis: TimeAxis) -> int | None:
    """The number of the file's partition on the axis; None if its partition spec has no such field."""
    position = _position(table, file.spec_id, axis)
    if position is None:
        return None
    number: int | None = file.partition[position]
    return number


def _position(table: Table, spec: int, axis: TimeAxis) -> int | None:
    source = table.schema().find_field(axis.column).field_id
    for position, field in enumerate(table.specs()[spec].fields):
        if field.source_id == source and _GRAINS.get(type(field.transform)) is axis.grain:
            return position
    return None
