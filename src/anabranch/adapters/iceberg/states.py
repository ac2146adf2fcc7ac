"""Snapshots of a table that a replay may start from: those in its history, and those protected by tags. No JVM."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, back, for_so_long, operation_of, point, require, said_by
from anabranch.adapters.iceberg.live import TOPIC
from anabranch.adapters.iceberg.refs import head_of
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.promote.history import Author
from anabranch.promote.ports import ConcurrentCommitError

TAG = "ab_state_"
"""Prefix of the tags."""
_NEVER = 2**63 - 1
_MILLISECOND = timedelta(milliseconds=1)


def states(table: Table, pipeline: str) -> tuple[TableSnapshot, ...]:
    """Every valid start snapshot, newest first, in main's history or protected from expiry by a tag."""
    tags = {ref.snapshot_id: name for name, ref in table.metadata.refs.items() if name.startswith(TAG)}
    kept = (table.snapshot_by_id(snapshot) for snapshot in tags)
    found = {s.snapshot_id: s for s in (*_good(table, pipeline), *kept) if s is not None}
    ordered = sorted(found.values(), key=_sequence, reverse=True)
    return tuple(_state(snapshot, tags.get(snapshot.snapshot_id)) for snapshot in ordered)


def _good(table: Table, pipeline: str) -> Iterator[Snapshot]:
    """Live's commits that no later promotion has corrected, and not made onto a promotion that was rolled back."""
    corrected_after = _NEVER
    taken_back: str | None = None
    for snapshot in back(table, MAIN):
        properties = said_by(snapshot)
        author = props.author(properties, operation_of(snapshot))
        if taken_back is not None:
            if author is Author.PROMOTION and properties.get(props.RUN) == taken_back:
                taken_back = None
        elif author is Author.ROLLBACK:
            taken_back = properties.get(props.RUN)
        elif author is Author.PROMOTION and props.ROOT in properties:
            corrected_after = min(int(properties[props.ROOT]), corrected_after)
        elif (
            author is Author.LIVE
            and properties.get(props.PIPELINE) == pipeline
            and _sequence(snapshot) <= corrected_after
        ):
            yield snapshot


def tags_after(table: Table, sequence: int) -> list[str]:
    """The tags of snapshots with a higher sequence number."""
    found = []
    for name, ref in table.metadata.refs.items():
        snapshot = table.snapshot_by_id(ref.snapshot_id) if name.startswith(TAG) else None
        if snapshot is not None and _sequence(snapshot) > sequence:
            found.append(name)
    return found


def newest_kept(table: Table) -> datetime | None:
    """Commit time of the newest tagged snapshot."""
    kept = (table.snapshot_by_id(ref.snapshot_id) for name, ref in table.metadata.refs.items() if name.startswith(TAG))
    return max((_moment(snapshot) for snapshot in kept if snapshot is not None), default=None)


def keep_state(target: IcebergTarget, snapshot: int, keep: timedelta) -> bool:
    """Tag this snapshot, which must be main's head, for so long.

    Returns False, with nothing changed, if another commit was made since: it may be a promotion that corrected this
    snapshot, which must then not be tagged as valid.
    """
    table = target.load()
    at = table.snapshot_by_id(snapshot)
    if at is None or table.metadata.refs[MAIN].snapshot_id != snapshot:
        return False
    try:
        with target.commit(table) as tx:
            point(tx, f"{TAG}{at.timestamp_ms}", snapshot, SnapshotRefType.TAG, for_so_long(keep))
            require(tx, {MAIN: snapshot})
    except ConcurrentCommitError:
        return False
    return True


def _state(snapshot: Snapshot, tag: str | None) -> TableSnapshot:
    properties = said_by(snapshot)
    position = {partition: end for partition, (_, end) in props.read_offsets(properties).items()}
    return TableSnapshot(
        head_of(snapshot.snapshot_id),
        tag,
        properties.get(TOPIC, ""),
        position,
        properties.get(props.EVENT_TIME),
        _moment(snapshot),
    )


def _moment(snapshot: Snapshot) -> datetime:
    return datetime.fromtimestamp(0, timezone.utc) + snapshot.timestamp_ms * _MILLISECOND


def _sequence(snapshot: Snapshot) -> int:
    return snapshot.sequence_number or 0
