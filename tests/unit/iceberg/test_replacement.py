"""Files out and others in by one snapshot, none of them rewritten: what the snapshot and its manifests then say.

tests/integration/iceberg/test_replace_files.py has the tables with many manifests.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.manifest import DataFile, ManifestEntryStatus
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.transforms import DayTransform
from pyiceberg.types import LongType, NestedField, TimestamptzType

from anabranch.adapters.iceberg.replacement import Replacement

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
SCHEMA = Schema(
    NestedField(1, "at", TimestamptzType(), required=False), NestedField(2, "id", LongType(), required=False)
)


@pytest.fixture
def orders(shop: Catalog) -> Table:
    """Four days of a file each; the first two by one commit."""
    spec = PartitionSpec(PartitionField(1, 1000, DayTransform(), "day"))
    table = shop.create_table("shop.orders", SCHEMA, partition_spec=spec)
    for days in ((0, 1), (2,), (3,)):
        put(table, *days)
    return table


def put(table: Table, *days: int, branch: str = "main") -> None:
    rows = {"at": [JUNE + timedelta(days=day) for day in days], "id": list(days)}
    table.append(pa.table(rows, schema=table.schema().as_arrow()), branch=branch)


def head(table: Table, ref: str = "main") -> Snapshot:
    snapshot = table.snapshot_by_name(ref)
    assert snapshot is not None
    return snapshot


def files(table: Table, ref: str = "main") -> dict[int, DataFile]:
    """By the number of the day, from June on."""
    tasks = table.scan(snapshot_id=head(table, ref).snapshot_id).plan_files()
    zero = (JUNE - datetime(1970, 1, 1, tzinfo=timezone.utc)).days
    return {each.file.partition[0] - zero: each.file for each in tasks}


def ids(table: Table, ref: str = "main") -> list[int]:
    return sorted(table.scan(snapshot_id=head(table, ref).snapshot_id).to_arrow()["id"].to_pylist())


def replace(
    table: Table, out: Iterable[DataFile], put_in: Iterable[DataFile] = (), ref: str = "main", **properties: str
) -> int:
    with table.transaction() as tx:
        change = Replacement(tx, ref, properties)
        for file in out:
            change.delete_data_file(file)
        for file in put_in:
            change.append_data_file(file)
        change.commit()
    return change.snapshot_id


def entries(table: Table, status: ManifestEntryStatus) -> set[str]:
    found = [
        (each.status, each.data_file.file_path)
        for manifest in head(table).manifests(table.io)
        if manifest.added_snapshot_id == head(table).snapshot_id
        for each in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    ]
    return {path for each, path in found if each is status}


def test_one_snapshot_has_some_files_out_and_others_in(orders: Table) -> None:
    there = files(orders)
    replace(orders, [there[3]])
    before = head(orders).snapshot_id
    snapshot = replace(orders, [there[0], there[2]], [there[3]], commit="c1")
    assert (head(orders).snapshot_id, head(orders).parent_snapshot_id) == (snapshot, before)
    assert ids(orders) == [1, 3]
    summary = head(orders).summary
    assert summary is not None
    assert (summary.operation, summary["commit"]) == (Operation.OVERWRITE, "c1")
    assert (summary["total-data-files"], summary["total-records"]) == ("2", "2")
    assert (summary["deleted-data-files"], summary["added-data-files"]) == ("2", "1")


def test_no_file_is_rewritten(orders: Table) -> None:
    there = files(orders)
    replace(orders, [there[0]])
    assert {day: each.file_path for day, each in files(orders).items()} == {
        day: each.file_path for day, each in there.items() if day != 0
    }


def test_the_snapshot_says_of_each_file_whether_it_came_went_or_stayed(orders: Table) -> None:
    there = files(orders)
    replace(orders, [there[3]])
    replace(orders, [there[0]], [there[3]])
    assert entries(orders, ManifestEntryStatus.DELETED) == {there[0].file_path}
    assert entries(orders, ManifestEntryStatus.ADDED) == {there[3].file_path}
    assert entries(orders, ManifestEntryStatus.EXISTING) == {there[1].file_path}, "its neighbour in the manifest"


def test_a_manifest_in_which_nothing_goes_is_carried_along_as_it_is(orders: Table) -> None:
    before = {each.manifest_path for each in head(orders).manifests(orders.io)}
    replace(orders, [files(orders)[0]])
    after = {each.manifest_path for each in head(orders).manifests(orders.io)}
    assert len(before & after) == 2
    assert len(before - after) == 1


def test_a_manifest_in_which_nothing_is_left_is_not_carried_along(orders: Table) -> None:
    for day in (2, 3):
        replace(orders, [files(orders)[day]])
    manifests = head(orders).manifests(orders.io)
    left = [each for each in manifests if each.has_added_files() or each.has_existing_files()]
    assert (len(left), len(manifests)) == (1, 2), "and one that says what went by the last commit"
    replace(orders, [files(orders)[0], files(orders)[1]])
    assert ids(orders) == []
    assert len(head(orders).manifests(orders.io)) == 1


def test_to_add_alone_changes_nothing_of_what_is_there(orders: Table) -> None:
    file = files(orders)[3]
    replace(orders, [file])
    manifests = {each.manifest_path for each in head(orders).manifests(orders.io) if each.has_added_files()}
    replace(orders, [], [file])
    assert ids(orders) == [0, 1, 2, 3]
    assert manifests <= {each.manifest_path for each in head(orders).manifests(orders.io)}


def test_a_file_that_is_not_there_is_refused_and_nothing_is_committed(orders: Table) -> None:
    gone = files(orders)[2]
    replace(orders, [gone])
    before = head(orders).snapshot_id
    for out in ([gone], [files(orders)[0], gone]):
        with pytest.raises(ValidationException):
            replace(orders, out)
    orders.refresh()
    assert head(orders).snapshot_id == before


def test_on_a_branch_main_stays_as_it_is(orders: Table) -> None:
    there, before = files(orders), head(orders).snapshot_id
    orders.manage_snapshots().create_branch(before, "staging").commit()
    replace(orders, [there[0], there[1]], ref="staging")
    assert ids(orders, "staging") == [2, 3]
    assert (head(orders).snapshot_id, ids(orders)) == (before, [0, 1, 2, 3])
    put(orders, 7, branch="staging")
    replace(orders, [], [files(orders, "staging")[7]])
    assert ids(orders) == [0, 1, 2, 3, 7], "a file of a branch joins main as it is"


def test_whoever_commits_between_the_look_and_the_commit_is_not_overwritten(shop: Catalog, orders: Table) -> None:
    there = files(orders)
    put(shop.load_table("shop.orders"), 9)
    with pytest.raises((CommitFailedException, ValidationException)):
        replace(orders, [there[0]])
    orders.refresh()
    assert ids(orders) == [0, 1, 2, 3, 9]


def test_a_file_of_a_former_partitioning_is_found_in_its_own(orders: Table) -> None:
    there = files(orders)
    with orders.update_spec() as change:
        change.remove_field("day")
    put(orders, 8)
    replace(orders, [there[1]])
    assert ids(orders) == [0, 2, 3, 8]
