"""Which data files lie in a range, and what a commit did to it: over small real tables."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    YearTransform,
)
from pyiceberg.types import LongType, NestedField, TimestampType, TimestamptzType

from anabranch.adapters.iceberg.files import (
    NotPartitionedByTimeError,
    StraddlingFileError,
    changed_in,
    files_in,
    partition_number,
    rows_in,
    time_axis,
)
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, WholeTable, ordinal

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)
ZERO = ordinal(Grain.DAY, JUNE)


def schema(zoned: bool = True) -> Schema:
    kind = TimestamptzType() if zoned else TimestampType()
    return Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "at", kind, required=False))


def table_by(shop: Catalog, *transforms: Transform[Any, Any], zoned: bool = True) -> Table:
    sources = [(1 if isinstance(each, BucketTransform) else 2, each) for each in transforms]
    fields = [PartitionField(source, 1000 + n, each, f"p{n}") for n, (source, each) in enumerate(sources)]
    return shop.create_table("shop.orders", schema(zoned), partition_spec=PartitionSpec(*fields))


def put(table: Table, *rows: tuple[int, datetime | None]) -> Snapshot:
    ids, moments = zip(*rows, strict=True)
    table.append(pa.table({"id": ids, "at": moments}, schema=table.schema().as_arrow()))
    return head(table)


def head(table: Table) -> Snapshot:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot


def days(first: int, after: int) -> PartitionRange:
    return PartitionRange(TimeAxis("at", Grain.DAY), ZERO + first, ZERO + after)


def found(table: Table, part: PartitionRange | WholeTable) -> list[int]:
    """The numbers of the partitions of the files in the range, from June on."""
    files = files_in(table, head(table).snapshot_id, part).values()
    numbers = [partition_number(table, each, TimeAxis("at", Grain.DAY)) for each in files]
    return sorted(-1 if number is None else number - ZERO for number in numbers)


@pytest.fixture
def daily(shop: Catalog) -> Table:
    """A file a day for four days; the first two by one commit."""
    table = table_by(shop, DayTransform())
    put(table, (0, JUNE), (1, JUNE + DAY))
    put(table, (2, JUNE + 2 * DAY))
    put(table, (3, JUNE + 3 * DAY))
    return table


@pytest.mark.parametrize(
    ("transform", "grain"),
    [
        (HourTransform(), Grain.HOUR),
        (DayTransform(), Grain.DAY),
        (MonthTransform(), Grain.MONTH),
        (YearTransform(), Grain.YEAR),
    ],
)
def test_the_time_axis_is_the_first_field_by_time(shop: Catalog, transform: Transform[Any, Any], grain: Grain) -> None:
    table = table_by(shop, BucketTransform(4), transform)
    assert time_axis(table) == TimeAxis("at", grain)
    put(table, (1, JUNE))
    [file] = files_in(table, head(table).snapshot_id, WholeTable(None)).values()
    assert partition_number(table, file, TimeAxis("at", grain)) == ordinal(grain, JUNE), "counted as plans count"
    other = Grain.DAY if grain is not Grain.DAY else Grain.HOUR
    assert partition_number(table, file, TimeAxis("at", other)) is None


@pytest.mark.parametrize("transforms", [(), (BucketTransform(4),)])
def test_a_table_that_is_not_partitioned_by_time_has_none(
    shop: Catalog, transforms: tuple[Transform[Any, Any], ...]
) -> None:
    with pytest.raises(NotPartitionedByTimeError):
        time_axis(table_by(shop, *transforms))


@pytest.mark.parametrize(
    ("part", "numbers"),
    [
        (days(0, 4), [0, 1, 2, 3]),
        (days(1, 3), [1, 2]),
        (days(3, 4), [3]),
        (days(4, 9), []),
        (days(-5, 1), [0]),
        (WholeTable(None), [0, 1, 2, 3]),
    ],
)
def test_the_files_of_a_range_are_those_of_its_partitions(
    daily: Table, part: PartitionRange | WholeTable, numbers: list[int]
) -> None:
    assert found(daily, part) == numbers


def test_files_are_of_the_snapshot_that_was_asked_for(daily: Table) -> None:
    first = next(each.snapshot_id for each in daily.snapshots())
    assert len(files_in(daily, first, WholeTable(None))) == 2
    daily.delete("id == 0")
    assert found(daily, days(0, 4)) == [1, 2, 3]
    assert len(files_in(daily, first, WholeTable(None))) == 2
    with pytest.raises(ValueError, match="12345"):
        files_in(daily, 12345, WholeTable(None))


def test_rows_without_a_time_belong_to_the_whole_table_only(daily: Table) -> None:
    put(daily, (9, None))
    assert found(daily, days(-(10**4), 10**4)) == [0, 1, 2, 3]
    assert found(daily, WholeTable(None)) == [-1, 0, 1, 2, 3]


@pytest.mark.parametrize("zoned", [True, False])
def test_the_rows_of_a_range_are_those_from_its_start_and_before_its_end(shop: Catalog, zoned: bool) -> None:
    table, edge = table_by(shop, DayTransform(), zoned=zoned), timedelta(microseconds=1)
    moments = [JUNE - edge, JUNE, JUNE + 2 * DAY - edge, JUNE + 2 * DAY]
    put(table, *((n, each if zoned else each.replace(tzinfo=None)) for n, each in enumerate(moments)))
    rows = table.scan(row_filter=rows_in(table, days(0, 2))).to_arrow()["id"].to_pylist()
    assert sorted(rows) == [1, 2]
    assert rows_in(table, WholeTable(None)) == AlwaysTrue()


def test_a_file_of_a_former_partitioning_is_inside_outside_or_refused(daily: Table) -> None:
    """Days became hours: a file by days may hold rows of either side of an hour."""
    with daily.update_spec() as change:
        change.remove_field("p0")
        change.add_field("at", HourTransform(), "at_hour")
    put(daily, (9, JUNE + 3 * DAY + timedelta(hours=5)))
    zero = ordinal(Grain.HOUR, JUNE)

    def hours(first: int, after: int) -> PartitionRange:
        return PartitionRange(TimeAxis("at", Grain.HOUR), zero + first, zero + after)

    assert len(files_in(daily, head(daily).snapshot_id, hours(73, 90))) == 1
    assert len(files_in(daily, head(daily).snapshot_id, WholeTable(None))) == 5
    with pytest.raises(StraddlingFileError):
        files_in(daily, head(daily).snapshot_id, hours(72, 90))


# What one commit did.


def test_a_commit_adds_to_the_ranges_that_it_wrote_into(daily: Table) -> None:
    snapshot = put(daily, (8, JUNE), (9, JUNE + 2 * DAY))
    whole = changed_in(daily, snapshot, WholeTable(None))
    first, second = (changed_in(daily, snapshot, part) for part in (days(0, 2), days(2, 4)))
    assert (len(first.added), len(second.added)) == (1, 1)
    assert whole.added == first.added | second.added
    assert whole.removed == first.removed == frozenset()
    assert changed_in(daily, snapshot, days(3, 9)).added == frozenset()


def test_a_commit_that_came_before_is_not_counted_again(daily: Table) -> None:
    added = [len(changed_in(daily, each, days(0, 4)).added) for each in daily.snapshots()]
    assert added == [2, 1, 1]


def test_a_commit_that_removes_says_what_and_keeps_silent_of_what_stays(daily: Table) -> None:
    """The first two days lie in one manifest, which is written again for the one that stays."""
    before = files_in(daily, head(daily).snapshot_id, days(0, 1))
    daily.delete("id == 0")
    changed = changed_in(daily, head(daily), days(0, 4))
    assert (changed.removed, changed.added) == (frozenset(before), frozenset())
    assert changed_in(daily, head(daily), days(1, 4)).removed == frozenset()


def test_a_row_without_a_time_may_be_in_any_range(daily: Table) -> None:
    snapshot = put(daily, (9, None))
    assert len(changed_in(daily, snapshot, days(0, 1)).added) == 1
