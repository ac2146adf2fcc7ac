"""Size, snapshots and live's commits of one table, from its metadata alone: no manifest is read. No JVM."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import ancestry, said_by
from anabranch.monitoring.live_samples import Position, TableState
from anabranch.promote.history import Author


def measure_table(catalog: Catalog, name: str, pipelines: Sequence[str]) -> TableState | None:
    """None: there is no such table. Raises what the catalog's client raises."""
    try:
        table = catalog.load_table(name)
    except NoSuchTableError:
        return None
    head = table.current_snapshot()
    files = None if head is None else said_by(head).get("total-data-files")
    ends: dict[str, Position] = {}
    newest: dict[str, datetime] = {}
    for pipeline in pipelines:
        position, event_time = _live(table, pipeline)
        if position:
            ends[pipeline] = position
        if event_time is not None:
            newest[pipeline] = event_time
    return TableState(None if files is None else int(files), len(table.metadata.snapshots), ends, newest)


def _live(table: Table, pipeline: str) -> tuple[dict[int, int], datetime | None]:
    """The newest end of each partition that live's commits recorded, and the newest event of the last that has one."""
    ends: dict[int, int] = {}
    newest: str | None = None
    for snapshot in ancestry(table, table.current_snapshot()):
        properties = said_by(snapshot)
        if properties.get(props.AUTHOR) == Author.LIVE.value and properties.get(props.PIPELINE) == pipeline:
            newest = newest or properties.get(props.EVENT_TIME)
            for partition, (_, end) in props.read_offsets(properties).items():
                ends.setdefault(partition, end)
    return ends, None if newest is None else _moment(newest)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
