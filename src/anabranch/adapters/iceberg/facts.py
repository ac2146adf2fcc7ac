"""Measures a table for planning: base, columns, the range's files, and how far live had come. No JVM, no change."""

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
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.errors import NOTHING_CHANGED
from anabranch.plan.ports import LiveHistory, TargetFacts
from anabranch.plan.request import BackfillRequest
from anabranch.plan.strategies.event_windows import first_touched
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import Grain, TargetPart, TimeAxis, WholeTable, everything, widen
from anabranch.promote.history import Author
from anabranch.runs.canonical import canonical


@dataclass(frozen=True)
class IcebergTables:
    """A catalog to plan for."""

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
    """The time axis, if its column holds moments: a range of dates has no hours to compare with."""
    axis = time_axis(table)
    kind = table.schema().find_field(axis.column).field_type
    if not isinstance(kind, TimestampType | TimestamptzType):
        raise NotPartitionedByTimeError(
            f"{'.'.join(table.name())} is partitioned by {axis.column}, which is a {kind} and not a timestamp.",
            state=NOTHING_CHANGED,
            hint="partition the target by the hour, day, month or year of a timestamp column",
        )
    return axis


def shown_axis(table: Table, event_time: str) -> TimeAxis | None:
    """The time to show rows by, where it does not matter for moving files: the partitioning's, or a column's days.

    Of several timestamp columns it is the one named like the event's time.
    """
    try:
        return usable_axis(table)
    except NotPartitionedByTimeError:
        fields = table.schema().fields
        moments = [f.name for f in fields if isinstance(f.field_type, TimestampType | TimestamptzType)]
        named = [name for name in moments if name.lower() == event_time.lower()]
        chosen = named or (moments if len(moments) == 1 else [])
        return TimeAxis(chosen[0], Grain.DAY) if chosen else None


def schema_digest(table: Table) -> str:
    """Of the columns in their order: ids, names, types, whether a value is required."""
    columns = [[f.field_id, f.name, str(f.field_type), f.required] for f in table.schema().fields]
    return hashlib.sha256(canonical(columns).encode()).hexdigest()


def live_history(table: Table, head: Snapshot | None, pipeline: str) -> LiveHistory:
    """What the commits up to `head` say. The newest end of a partition counts: from there live goes on."""
    ends: dict[int, int] = {}
    commits, foreign = 0, 0
    others: set[str] = set()
    oldest, watermark = None, None
    for snapshot in ancestry(table, head):
        oldest = snapshot
        said = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        match props.author(said, snapshot.summary.operation.value if snapshot.summary else ""):
            case Author.LIVE if said.get(props.PIPELINE) == pipeline:
                commits += 1
                if watermark is None and props.WATERMARK in said:
                    watermark = int(said[props.WATERMARK])
                for partition, (_, end) in props.read_offsets(said).items():
                    ends.setdefault(partition, end)
            case Author.LIVE:
                others.add(said.get(props.PIPELINE) or "a pipeline without a name")
            case Author.FOREIGN:
                foreign += 1
            case Author.PROMOTION | Author.ROLLBACK | Author.REWRITE:
                pass
    return LiveHistory(ends, commits, _is_the_first(oldest), frozenset(others), foreign, watermark)


def _is_the_first(snapshot: Snapshot | None) -> bool:
    """Whether nothing was committed before it. No parent proves nothing: expiry may cut it off and leave no trace."""
    return snapshot is None or (snapshot.parent_snapshot_id is None and snapshot.sequence_number == 1)
