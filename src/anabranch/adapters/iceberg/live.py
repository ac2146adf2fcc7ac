"""Where live stands, by the table's own word: the last commit on main that live made. No JVM."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import ancestry
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.slices import Offsets
from anabranch.plan.strategies.live_batches import LiveBatch
from anabranch.promote.history import Author

TOPIC = "anabranch.topic"
"""UUID of the topic: another one of the same name has other records at the same offsets."""


class LiveHistoryGoneError(AnabranchError):
    code = "live.history-gone"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class LiveCommit:
    """One batch of live, as it is in the table."""

    id: str
    query: str
    batch: int
    snapshot: int
    offsets: Offsets
    topic: str
    """UUID of the topic the offsets belong to."""
    rows: int
    """How many rows the batch added."""
    event_time: str | None = None
    """The newest event that live had written by then."""

    @property
    def position(self) -> dict[int, int]:
        """The first offset of each partition that live has not written."""
        return {partition: end for partition, (_, end) in self.offsets.items()}


def live_commit_id(query: str, batch: int) -> str:
    return f"live-{query}-{batch}"


def last_live_commit(table: Table, pipeline: str) -> LiveCommit | None:
    """The newest commit of this pipeline's live on main; None if there was none ever.

    Walks back only as far as that commit. When history was expired before one was found, nobody can know whether
    rows are in the table already, and guessing would lose or double them.
    """
    snapshot = table.current_snapshot()
    while snapshot is not None:
        said = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        if said.get(props.AUTHOR) == Author.LIVE.value and said.get(props.PIPELINE) == pipeline:
            return _commit(snapshot, said)
        if snapshot.parent_snapshot_id is None:
            return None
        parent = table.snapshot_by_id(snapshot.parent_snapshot_id)
        if parent is None:
            raise LiveHistoryGoneError(
                f"The history of {'.'.join(table.name())} was expired back to a commit that is not live's: nobody can "
                "say which records live has written.",
                state=NOTHING_CHANGED,
                hint="keep snapshots at least until live's next commit; to begin anew, make a new table",
            )
        snapshot = parent
    return None


def live_offsets(table: Table, pipeline: str, topic: str) -> list[Offsets]:
    """What each commit of live has read of the topic (its UUID), newest first, as far back as snapshots are kept.

    Of all snapshots, not of main's history alone: a table that was swapped has its former history beside it.
    """
    found: list[Offsets] = []
    order = sorted(table.snapshots(), key=lambda each: (each.sequence_number or 0, each.timestamp_ms), reverse=True)
    for snapshot in order:
        properties = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        author, of = properties.get(props.AUTHOR), (properties.get(props.PIPELINE), properties.get(TOPIC))
        if author == Author.LIVE.value and of == (pipeline, topic):
            found.append(props.read_offsets(properties))
    return found


def live_batches(table: Table, base: int, pipeline: str) -> list[LiveBatch]:
    """Live's batches up to the base, newest first, as far back as history is kept."""
    found: list[LiveBatch] = []
    for snapshot in ancestry(table, table.snapshot_by_id(base)):
        said = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        if said.get(props.PIPELINE) == pipeline and props.LATE_BEFORE in said:
            found.append(_batch(said))
    return found


def _batch(said: dict[str, str]) -> LiveBatch:
    return LiveBatch(
        said[props.QUERY],
        int(said[props.BATCH]),
        said[TOPIC],
        props.read_offsets(said),
        int(said[props.WATERMARK]),
        int(said[props.LATE_BEFORE]),
        int(said[props.LATE]) if props.LATE in said else None,
        said.get(props.WINDOW),
    )


def _commit(snapshot: Snapshot, said: dict[str, str]) -> LiveCommit:
    return LiveCommit(
        said[props.COMMIT],
        said[props.QUERY],
        int(said[props.BATCH]),
        snapshot.snapshot_id,
        props.read_offsets(said),
        said[TOPIC],
        int(said.get("added-records", "0")),
        said.get(props.EVENT_TIME),
    )
