"""Files out and files in by one commit, of a table whose manifests are many."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import HourTransform
from pyiceberg.types import LongType, NestedField, TimestamptzType

from anabranch.adapters.iceberg.commits import MAIN, replace_files
from anabranch.adapters.iceberg.files import StraddlingFileError, files_in, time_axis
from anabranch.plan.target_range import PartitionRange

FIRST = datetime(2025, 6, 1, tzinfo=timezone.utc)
HOURS = 40
SCHEMA = Schema(
    NestedField(1, "at", TimestamptzType(), required=False), NestedField(2, "number", LongType(), required=False)
)


@pytest.fixture
def visits(bank: Catalog) -> Table:
    """A file and a manifest for each hour."""
    spec = PartitionSpec(PartitionField(1, 1000, HourTransform(), "at_hour"))
    table = bank.create_table("bank.visits", SCHEMA, partition_spec=spec)
    for hour in range(HOURS):
        at = FIRST + timedelta(hours=hour)
        table.append(pa.table({"at": [at], "number": [hour]}, schema=table.schema().as_arrow()))
    return table


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def hours(table: Table, first: int, after: int) -> PartitionRange:
    zero = int(FIRST.timestamp()) // 3600
    return PartitionRange(time_axis(table), zero + first, zero + after)


def numbers(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["number"].to_pylist())


def head(table: Table) -> int:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def put(table: Table, *rows: tuple[datetime | None, int]) -> None:
    at, number = zip(*rows, strict=True)
    table.append(pa.table({"at": at, "number": number}, schema=table.schema().as_arrow()))


def out_and_in(table: Table, out: Iterable[DataFile], put_in: Iterable[DataFile] = ()) -> None:
    with table.transaction() as tx:
        replace_files(tx, MAIN, out, put_in, {})


def manifests(table: Table) -> list[ManifestFile]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.manifests(table.io)


@pytest.mark.usefixtures("switching")
def test_no_file_is_overlooked_however_threads_take_turns(visits: Table) -> None:
    all_files = files_in(visits, head(visits), hours(visits, 0, HOURS)).values()
    odd = [file for file in all_files if file.partition[0] % 2]
    out_and_in(visits, odd)
    assert numbers(visits) == list(range(0, HOURS, 2))
    assert {file.partition[0] % 2 for file in files_in(visits, head(visits), hours(visits, 0, HOURS)).values()} == {0}


def test_files_go_out_and_come_back_and_their_neighbours_in_a_manifest_stay(visits: Table) -> None:
    put(visits, *((FIRST + timedelta(hours=hour), 100 + hour) for hour in range(HOURS)))
    before, present = numbers(visits), files_in(visits, head(visits), hours(visits, 3, 6))
    assert len(present) == 6
    out_and_in(visits, present.values())
    assert numbers(visits) == [each for each in before if each % 100 not in (3, 4, 5)]
    out_and_in(visits, [], present.values())
    assert numbers(visits) == before
    snapshot = visits.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary["total-records"] == str(2 * HOURS)


def test_manifests_with_nothing_left_in_them_are_not_carried_along(visits: Table) -> None:
    sizes = []
    for _ in range(4):
        files = files_in(visits, head(visits), hours(visits, 0, 10)).values()
        out_and_in(visits, files)
        out_and_in(visits, [], files)
        sizes.append(len(manifests(visits)))
    assert sizes == [HOURS - 9] * 4


def test_a_file_that_is_not_there_is_no_file_to_remove(visits: Table) -> None:
    gone = files_in(visits, head(visits), hours(visits, 3, 4)).values()
    out_and_in(visits, gone)
    with pytest.raises(ValidationException, match="Missing required files"):
        out_and_in(visits, gone)


def test_rows_without_a_time_are_in_no_range(visits: Table) -> None:
    put(visits, (None, 1000), (FIRST, 1001))
    put(visits, (None, 1002))
    found = files_in(visits, head(visits), hours(visits, -(10**4), 10**4))
    assert len(found) == HOURS + 1
    out_and_in(visits, found.values())
    assert numbers(visits) == [1000, 1002]


def test_a_file_of_another_partitioning_is_refused_where_it_may_reach_into_the_range(visits: Table) -> None:
    with visits.update_spec() as change:
        change.remove_field("at_hour")
    put(visits, (FIRST + timedelta(hours=5), 1000), (FIRST + timedelta(hours=7), 1001))
    with visits.update_spec() as change:
        change.add_field("at", HourTransform(), "at_hour")
    with pytest.raises(StraddlingFileError):
        files_in(visits, head(visits), hours(visits, 6, 8))
    before = files_in(visits, head(visits), hours(visits, 0, 5))
    assert len(before) == 5
    out_and_in(visits, before.values())
    assert numbers(visits) == [*range(5, HOURS), 1000, 1001]
