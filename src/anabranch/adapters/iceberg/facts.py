"""Measures a table for planning: base, columns, the range's files and live's position. Reads only, no JVM."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import TimestampType, TimestamptzType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import ancestry
from anabranch.adapters.iceberg.files import NotPartitionedByTimeError, files_in, time_axis
from anabranch.adapters.iceberg.live import live_batches
from anabranch.adapters.iceberg.partitioning import require_partitioning
from anabranch.adapters.iceberg.refs import head_of
from anabranch.adapters.iceberg.states import states
from anabranch.adapters.iceberg.table import TargetMissingError
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.errors import NOTHING_CHANGED
from anabranch.plan.plan import PlannedTarget
from anabranch.plan.ports import LiveHistory, TargetFacts
from anabranch.plan.request import BackfillRequest
from anabranch.plan.strategies.event_windows import first_touched
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import Grain, TargetPart, TimeAxis, WholeTable, everything, widen
from anabranch.promote.history import Author
from anabranch.runs.canonical import canonical


@dataclass(frozen=True)
class IcebergTables:
    """Measures the tables of one catalog."""

    catalog: Catalog

    def measure(self, request: BackfillRequest) -> TargetFacts:
        name, pipeline = request.pipeline.spec.target.table, request.pipeline.metadata.name
        table = IcebergTarget(self.catalog, name).load()
        require_partitioning(table, request.pipeline.spec)
        partitions = _part(table, request)
        head = table.current_snapshot()
        files = [] if head is None else list(files_in(table, head.snapshot_id, partitions).values())
        return TargetFacts(
            table=name,
            base=None if head is None else head_of(head.snapshot_id),
            schema=schema_digest(table),
            columns=tuple(field.name for field in table.schema().fields),
            partitions=partitions,
            files=len(files),
            rows=sum(file.record_count for file in files),
            live=live_history(table, head, pipeline),
            states=states(table, pipeline) if request.strategy.whole_table else (),
            batches=tuple(live_batches(table, head.snapshot_id, pipeline))
            if head is not None and request.strategy is Strategy.STREAM
            else (),
        )


def _part(table: Table, request: BackfillRequest) -> TargetPart:
    if request.strategy.whole_table:
        return WholeTable(shown_axis(table, request.pipeline.spec.event_time.field), request.start)
    axis = usable_axis(table)
    if request.start is None or request.end is None:
        return everything(axis)
    window = request.pipeline.spec.window
    return widen(axis, request.start if window is None else first_touched(window, request.start), request.end)


def usable_axis(table: Table) -> TimeAxis:
    """The time axis. Raises NotPartitionedByTimeError unless its column is a timestamp (a date has no hours)."""
    axis = time_axis(table)
    kind = table.schema().find_field(axis.column).field_type
    if not isinstance(kind, TimestampType | TimestamptzType):
        raise NotPartitionedByTimeError(
            f"Table {'.'.join(table.name())} is partitioned by {axis.column}, which is a {kind} and not a timestamp.",
            state=NOTHING_CHANGED,
            hint="Partition the target by the hour, day, month or year of a timestamp column",
        )
    return axis


def shown_axis(table: Table, event_time: str) -> TimeAxis | None:
    """The time by which rows are shown: the partitioning's, otherwise the days of a timestamp column.

    Of several timestamp columns, the one with the event time's name; None if there is none.
    """
    try:
        return usable_axis(table)
    except NotPartitionedByTimeError:
        fields = table.schema().fields
        timestamps = [f.name for f in fields if isinstance(f.field_type, TimestampType | TimestamptzType)]
        named = [name for name in timestamps if name.lower() == event_time.lower()]
        chosen = named or (timestamps if len(timestamps) == 1 else [])
        return TimeAxis(chosen[0], Grain.DAY) if chosen else None


def observe_target(
    catalog: Catalog, planned: PlannedTarget, event_time: str
) -> tuple[str | None, TimeAxis | None, bool]:
    """The columns' digest, the time axis, and whether main still has the plan's base snapshot. None: no table."""
    try:
        table = IcebergTarget(catalog, planned.table).load()
    except TargetMissingError:
        return None, None, False
    base_kept = any(head_of(each.snapshot_id) == planned.base for each in ancestry(table, table.current_snapshot()))
    return schema_digest(table), _axis_of(table, planned.partitions, event_time), base_kept


def _axis_of(table: Table, part: TargetPart, event_time: str) -> TimeAxis | None:
    if isinstance(part, WholeTable):
        return shown_axis(table, event_time)
    try:
        return usable_axis(table)
    except NotPartitionedByTimeError:
        return None


def schema_digest(table: Table) -> str:
    """SHA-256 of the columns in order: ids, names, types, required."""
    columns = [[f.field_id, f.name, str(f.field_type), f.required] for f in table.schema().fields]
    return hashlib.sha256(canonical(columns).encode()).hexdigest()


def live_history(table: Table, head: Snapshot | None, pipeline: str) -> LiveHistory:
    """Live's position by the commits up to `head`: the newest end offset of each partition, where live continues."""
    ends: dict[int, int] = {}
    commits, foreign = 0, 0
    others: set[str] = set()
    oldest, watermark = None, None
    for snapshot in ancestry(table, head):
        oldest = snapshot
        properties = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        match props.author(properties, snapshot.summary.operation.value if snapshot.summary else ""):
            case Author.LIVE if properties.get(props.PIPELINE) == pipeline:
                commits += 1
                if watermark is None and props.WATERMARK in properties:
                    watermark = int(properties[props.WATERMARK])
                for partition, (_, end) in props.read_offsets(properties).items():
                    ends.setdefault(partition, end)
            case Author.LIVE:
                others.add(properties.get(props.PIPELINE) or "an unnamed pipeline")
            case Author.FOREIGN:
                foreign += 1
            case Author.PROMOTION | Author.ROLLBACK | Author.REWRITE:
                pass
    return LiveHistory(ends, commits, _is_the_first(oldest), frozenset(others), foreign, watermark)


def _is_the_first(snapshot: Snapshot | None) -> bool:
    """Whether it is the table's first commit. A missing parent alone does not prove it: the parent may have expired."""
    return snapshot is None or (snapshot.parent_snapshot_id is None and snapshot.sequence_number == 1)
