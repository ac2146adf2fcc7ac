"""Live's position, from the properties of its commits in the table. No JVM."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import ancestry
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.slices import Offsets
from anabranch.plan.strategies.live_batches import WindowedBatch
from anabranch.promote.history import Author

TOPIC = "anabranch.topic"
"""Snapshot property: UUID of the topic. A recreated topic has other records at the same offsets."""


class LiveHistoryGoneError(AnabranchError):
    code = "live.history-gone"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class LiveCommit:
    """The commit of one batch of live."""

    id: str
    query: str
    batch: int
    snapshot: int
    offsets: Offsets
    topic: str
    """UUID of the topic the offsets belong to."""
    rows: int
    """Rows that the batch added."""
    event_time: str | None = None
    """Event time of the newest event that live had written at this commit."""

    @property
    def position(self) -> dict[int, int]:
        """The next offset of each partition."""
        return {partition: end for partition, (_, end) in self.offsets.items()}


def live_commit_id(query: str, batch: int) -> str:
    return f"live-{query}-{batch}"


def last_live_commit(table: Table, pipeline: str) -> LiveCommit | None:
    """The newest commit of this pipeline's live on main; None if there never was one.

    Raises LiveHistoryGoneError if the history expired before one was found: whether records are in the table is then
    unknown, and a guess would lose or duplicate them.
    """
    snapshot = table.current_snapshot()
    while snapshot is not None:
        properties = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        if properties.get(props.AUTHOR) == Author.LIVE.value and properties.get(props.PIPELINE) == pipeline:
            return _commit(snapshot, properties)
        if snapshot.parent_snapshot_id is None:
            return None
        parent = table.snapshot_by_id(snapshot.parent_snapshot_id)
        if parent is None:
            raise LiveHistoryGoneError(
                f"Live's position in {'.'.join(table.name())} is unknown: the snapshots that recorded it have expired.",
                state=NOTHING_CHANGED,
                hint="Keep snapshots at least until live's next commit. To start from the beginning, use a new table",
            )
        snapshot = parent
    return None


def live_offsets(table: Table, pipeline: str, topic: str) -> list[Offsets]:
    """The offsets of each commit of live for the topic (a UUID), newest first, as far back as snapshots are kept.

    Reads all snapshots, not only main's history: after a table swap the former history is on another branch.
    """
    found: list[Offsets] = []
    order = sorted(table.snapshots(), key=lambda each: (each.sequence_number or 0, each.timestamp_ms), reverse=True)
    for snapshot in order:
        properties = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        author, of = properties.get(props.AUTHOR), (properties.get(props.PIPELINE), properties.get(TOPIC))
        if author == Author.LIVE.value and of == (pipeline, topic):
            found.append(props.read_offsets(properties))
    return found


def live_batches(table: Table, base: int, pipeline: str) -> list[WindowedBatch]:
    """Live's batches up to the base, newest first, as far back as snapshots are kept."""
    found: list[WindowedBatch] = []
    for snapshot in ancestry(table, table.snapshot_by_id(base)):
        properties = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        if properties.get(props.PIPELINE) == pipeline and props.LATE_BEFORE in properties:
            found.append(_batch(properties))
    return found


def _batch(properties: dict[str, str]) -> WindowedBatch:
    return WindowedBatch(
        properties[props.QUERY],
        int(properties[props.BATCH]),
        properties[TOPIC],
        props.read_offsets(properties),
        int(properties[props.WATERMARK]),
        int(properties[props.LATE_BEFORE]),
        int(properties[props.LATE]) if props.LATE in properties else None,
        properties.get(props.WINDOW),
    )


def _commit(snapshot: Snapshot, properties: dict[str, str]) -> LiveCommit:
    return LiveCommit(
        properties[props.COMMIT],
        properties[props.QUERY],
        int(properties[props.BATCH]),
        snapshot.snapshot_id,
        props.read_offsets(properties),
        properties[TOPIC],
        int(properties.get("added-records", "0")),
        properties.get(props.EVENT_TIME),
    )
