"""Maintains the zone map's table: compacts small files, and expires old snapshots with their files.

A reader needs less than a minute, so files that were replaced an hour ago can be deleted.
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
"""Number of small files from which they are compacted."""
SMALL_ROWS = 200_000
RETENTION_SECONDS = 3600


def small_files(table: Table) -> list[FileScanTask]:
    return [task for task in table.scan().plan_files() if task.file.record_count < SMALL_ROWS]


def compact(table: Table, small: Iterable[FileScanTask], combined: Callable[[pa.Table], pa.Table]) -> None:
    """Replace these files by one with the same zones, in one commit that fails if the head has moved."""
    tasks = list(small)
    schema = table.schema()
    rows = combined(ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table(tasks))
    # No retry by PyIceberg on a newer head: compaction is optional.
    table.metadata.properties["commit.retry.num-retries"] = "0"
    with table.transaction() as tx:
        files = _dataframe_to_data_files(table.metadata, rows, table.io)
        replace_files(tx, MAIN, [task.file for task in tasks], files, {})


def expire(table: Table, now: float | None = None) -> None:
    """Expire snapshots older than an hour, then delete the files that only they used."""
    before = ((time.time() if now is None else now) - RETENTION_SECONDS) * 1000
    heads = {ref.snapshot_id for ref in table.metadata.refs.values()}
    old = [s for s in table.metadata.snapshots if s.timestamp_ms < before and s.snapshot_id not in heads]
    if not old:
        return
    expired = {snapshot.snapshot_id for snapshot in old}
    remaining = [s for s in table.metadata.snapshots if s.snapshot_id not in expired]
    unused = _files(table, old) - _files(table, remaining)
    table.maintenance.expire_snapshots().by_ids(sorted(expired)).commit()
    for path in sorted(unused):
        table.io.delete(path)


def _files(table: Table, snapshots: Iterable[Snapshot]) -> set[str]:
    """All files of these snapshots: manifest lists, manifests, data files. A shared manifest is read once."""
    lists = {snapshot.manifest_list: snapshot for snapshot in snapshots}
    manifests = {each.manifest_path: each for s in lists.values() for each in s.manifests(table.io)}
    data = {
        entry.data_file.file_path
        for manifest in manifests.values()
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    }
    return {*lists, *manifests, *data}
