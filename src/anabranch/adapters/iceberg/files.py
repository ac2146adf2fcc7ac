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
    """The column by whose time the table is partitioned, and the width of a partition."""
    for field in table.spec().fields:
        grain = _GRAINS.get(type(field.transform))
        if grain is not None:
            return TimeAxis(table.schema().find_field(field.source_id).name, grain)
    raise NotPartitionedByTimeError(
        f"{'.'.join(table.name())} is not partitioned by the hour, day, month or year of a time column.",
        state=NOTHING_CHANGED,
        hint="partition the target by time: a range can only be replaced as whole partitions",
    )


def rows_in(table: Table, partitions: TargetPart) -> BooleanExpression:
    """The rows of the range, as a filter. Bounds carry a zone when the column does."""
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
    """Every data file of `snapshot` that lies in the range, by path. A file is wholly inside, or we refuse."""
    wanted = table.snapshot_by_id(snapshot)
    if wanted is None:
        raise ValueError(f"{'.'.join(table.name())} has no snapshot {snapshot}")
    manifests = manifests_of(wanted, table.io)
    asked = {spec: _spans(table, spec, partitions) for spec in {each.partition_spec_id for each in manifests}}
    spans = {spec: span for spec, span in asked.items() if span is not None}
    if len(spans) < len(asked) or any(each.content is not ManifestContent.DATA for each in manifests):
        return _scanned(table, snapshot, partitions)
    near = [each for each in manifests if may_hold(each, spans[each.partition_spec_id])]
    return {
        entry.data_file.file_path: entry.data_file
        for manifest, entries in live_entries(near, table.io)
        for entry in entries
        if within(spans[manifest.partition_spec_id], entry.data_file)
    }


def _spans(table: Table, spec: int, partitions: TargetPart) -> Spans | None:
    """The range in this partitioning; None if it has no field for it."""
    if isinstance(partitions, WholeTable):
        return {}
    position = _position(table, spec, partitions.axis)
    return None if position is None else {position: (partitions.first, partitions.after - 1)}


def _scanned(table: Table, snapshot: int, partitions: TargetPart) -> dict[str, DataFile]:
    """The long way, for tables with row-level deletes or with files of other partitionings."""
    found: dict[str, DataFile] = {}
    for task in table.scan(row_filter=rows_in(table, partitions), snapshot_id=snapshot).plan_files():
        if task.delete_files:
            raise RowDeletesError(
                f"{'.'.join(table.name())} has row-level deletes in the range, which belong to files we would move.",
                state=NOTHING_CHANGED,
                hint="compact the range (`CALL …system.rewrite_data_files`), then plan again",
            )
        if isinstance(partitions, PartitionRange):
            _require_inside(table, task.file, partitions)
        found[task.file.file_path] = task.file
    return found


@dataclass(frozen=True)
class Changed:
    """What one commit did to the range, by the paths of data files."""

    added: frozenset[str]
    removed: frozenset[str]


def changed_in(table: Table, snapshot: Snapshot, partitions: TargetPart) -> Changed:
    """Read from the manifests that the commit itself wrote, so that a long history costs no more than its commits.

    A file whose partition can't be told, or a row-level delete, counts as inside: better to look twice than to lose.
    """
    added: set[str] = set()
    removed: set[str] = set()
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        for entry in entries_of(manifest, table.io):
            if entry.snapshot_id != snapshot.snapshot_id or entry.status is ManifestEntryStatus.EXISTING:
                continue
            if _may_be_inside(table, entry.data_file, partitions):
                is_new_row_data = entry.data_file.content is DataFileContent.DATA
                kept = entry.status is ManifestEntryStatus.ADDED and is_new_row_data
                (added if kept else removed).add(entry.data_file.file_path)
    return Changed(frozenset(added), frozenset(removed))


def _may_be_inside(table: Table, file: DataFile, partitions: TargetPart) -> bool:
    if isinstance(partitions, WholeTable):
        return True
    number = partition_number(table, file, partitions.axis)
    return number is None or number in partitions


def _require_inside(table: Table, file: DataFile, partitions: PartitionRange) -> None:
    """A file written under an older partitioning may hold rows of both sides; moving it would move too much."""
    number = partition_number(table, file, partitions.axis)
    if number is None or number not in partitions:
        raise StraddlingFileError(
            f"{file.file_path} was written under another partitioning and may hold rows outside the range.",
            state=NOTHING_CHANGED,
            hint="rewrite the table under its present partitioning, then plan again",
        )


def partition_number(table: Table, file: DataFile, axis: TimeAxis) -> int | None:
    """The number of the file's partition along the axis; None when its partitioning does not say."""
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
