"""Rows and sizes of partitions, from the manifests of a real table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.conformance.target.iceberg_range import DAY, IcebergRangeKind

from anabranch.adapters.iceberg.partition_stats import (
    PARTITIONS_SEARCHED,
    filled_partitions,
    smallest_range,
    stored_size,
)
from anabranch.adapters.iceberg.refs import head_of
from anabranch.plan.target_range import Grain, PartitionRange, WholeTable, ordinal
from anabranch.runs.heads import Head

HOUR = timedelta(hours=1)
MIDNIGHT = ordinal(Grain.HOUR, DAY)


@pytest.fixture
def kind(tmp_path: Path) -> Iterator[IcebergRangeKind]:
    """Three rows in each of the hours 0, 2, 3 and 5, one file an hour."""
    kind = IcebergRangeKind(tmp_path / ".anabranch")
    yield kind
    kind.close()


def hours(kind: IcebergRangeKind, first: int, after: int) -> PartitionRange:
    assert isinstance(kind.part, PartitionRange)
    return replace(kind.part, first=MIDNIGHT + first, after=MIDNIGHT + after)


def test_filled_partitions_are_those_with_rows_newest_first(kind: IcebergRangeKind) -> None:
    kind.append([(90, 5, "more")])
    found = [(part.first - MIDNIGHT, part.after - part.first, rows) for part, rows in filled(kind)]
    assert found == [(5, 1, 4), (3, 1, 3), (2, 1, 3), (0, 1, 3)]


def filled(kind: IcebergRangeKind) -> tuple[tuple[PartitionRange, int], ...]:
    return filled_partitions(kind.table(), None)


def test_only_partitions_shortly_before_the_newest_event_are_searched(kind: IcebergRangeKind) -> None:
    at = DAY + HOUR * 3
    assert [part.first - MIDNIGHT for part, _ in filled_partitions(kind.table(), at)] == [3, 2, 0]
    late = DAY + HOUR * (PARTITIONS_SEARCHED + 3)
    assert [part.first - MIDNIGHT for part, _ in filled_partitions(kind.table(), late)] == [5, 3]


def test_a_table_without_a_snapshot_has_none(kind: IcebergRangeKind) -> None:
    empty = kind.catalog().create_table("shop.empty", kind.schema, partition_spec=kind.spec)
    assert filled_partitions(empty, None) == ()


def test_the_smallest_range_has_all_rows_of_the_part(kind: IcebergRangeKind) -> None:
    table = kind.table()
    assert smallest_range(table, kind.base, hours(kind, 1, 24)) == hours(kind, 2, 6)
    assert smallest_range(table, kind.base, hours(kind, 3, 4)) == hours(kind, 3, 4)


def test_a_part_without_rows_and_a_whole_table_stay_as_they_are(kind: IcebergRangeKind) -> None:
    table = kind.table()
    assert smallest_range(table, kind.base, hours(kind, 6, 9)) == hours(kind, 6, 9)
    assert smallest_range(table, kind.base, WholeTable(None)) == WholeTable(None)


def test_the_stored_size_is_that_of_the_parts_files(kind: IcebergRangeKind) -> None:
    head = head_of(kind.base)
    two, four = stored_size(kind.table(), head, hours(kind, 2, 4)), stored_size(kind.table(), head, hours(kind, 0, 6))
    on_disk = [Path(path).stat().st_size for path in kind.data_files()]
    assert (two.files, four.files) == (2, 4)
    assert four.bytes == sum(on_disk)
    assert 0 < two.bytes < four.bytes


@pytest.mark.parametrize("head", [None, Head("77")], ids=["no snapshot", "expired"])
def test_without_the_snapshot_nothing_is_stored(kind: IcebergRangeKind, head: Head | None) -> None:
    found = stored_size(kind.table(), head, hours(kind, 0, 6))
    assert (found.files, found.bytes) == (0, 0)
