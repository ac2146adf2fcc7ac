"""Keeps the zone map's table small: small files become one, and snapshots nobody reads any more go with their files.

Whoever reads the map has read it within a minute, so that what was replaced an hour ago can go.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg.commits import MAIN, replace_files

FEWEST_SMALL = 32
"""Small files that are worth one commit to get rid of."""
SMALL_ROWS = 200_000
KEEP_SECONDS = 3600


def small_files(table: Table) -> list[FileScanTask]:
    return [task for task in table.scan().plan_files() if task.file.record_count < SMALL_ROWS]


def compact(table: Table, small: Iterable[FileScanTask], combined: Callable[[pa.Table], pa.Table]) -> None:
    """These files out and one with the same facts in, in one commit that is made on this very head or not at all."""
    tasks = list(small)
    schema = table.schema()
    rows = combined(ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table(tasks))
    # PyIceberg would try again by itself on a newer head; ours is only worth a try.
    table.metadata.properties["commit.retry.num-retries"] = "0"
    with table.transaction() as tx:
        files = _dataframe_to_data_files(table.metadata, rows, table.io)
        replace_files(tx, MAIN, [task.file for task in tasks], files, {})


def expire(table: Table, now: float | None = None) -> None:
    """Drop the snapshots of more than an hour ago, then the files that only they had."""
    before = ((time.time() if now is None else now) - KEEP_SECONDS) * 1000
    heads = {ref.snapshot_id for ref in table.metadata.refs.values()}
    old = [s for s in table.metadata.snapshots if s.timestamp_ms < before and s.snapshot_id not in heads]
    if not old:
        return
    gone = {snapshot.snapshot_id for snapshot in old}
    kept = [s for s in table.metadata.snapshots if s.snapshot_id not in gone]
    unused = _files(table, old) - _files(table, kept)
    table.maintenance.expire_snapshots().by_ids(sorted(gone)).commit()
    for path in sorted(unused):
        table.io.delete(path)


def _files(table: Table, snapshots: Iterable[Snapshot]) -> set[str]:
    """Everything these snapshots are made of: lists, manifests, data. A manifest that many share is read once."""
    lists = {snapshot.manifest_list: snapshot for snapshot in snapshots}
    manifests = {each.manifest_path: each for s in lists.values() for each in s.manifests(table.io)}
    data = {
        entry.data_file.file_path
        for manifest in manifests.values()
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    }
    return {*lists, *manifests, *data}
