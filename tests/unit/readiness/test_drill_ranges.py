"""Which ranges a drill tries and in which order, and how its runs are found again."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from anabranch.contract.backfill import Backfill
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, ordinal
from anabranch.project.quantities import format_moment
from anabranch.readiness.drill import same_code
from anabranch.readiness.drill_ranges import CANDIDATES, drill_contract, is_drill_of, ranges_by_partition, ranges_since
from anabranch.runs.heads import Head

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)


def hour(number: int) -> PartitionRange:
    first = ordinal(Grain.HOUR, JUNE) + number
    return PartitionRange(TimeAxis("ordered_at", Grain.HOUR), first, first + 1)


def starts(filled: list[tuple[PartitionRange, int]]) -> list[str]:
    return [each["eventTime"]["from"] for each in ranges_by_partition(filled)]


def at(number: int) -> str:
    return format_moment(JUNE + timedelta(hours=number))


def test_the_smallest_finished_partition_is_first_and_the_newest_is_last() -> None:
    filled = [(hour(5), 1), (hour(4), 10), (hour(3), 3), (hour(2), 7)]
    assert starts(filled) == [at(3), at(2), at(4), at(5)]


def test_only_the_last_partitions_are_considered() -> None:
    filled = [(hour(number), 100) for number in range(40, 0, -1)]
    assert len(starts(filled)) == CANDIDATES + 1
    assert starts([*filled, (hour(0), 1)]) == starts(filled), "an old partition is not, however small"


def test_a_range_is_a_whole_partition() -> None:
    [requested] = ranges_by_partition([(hour(2), 7)])
    assert requested == {"eventTime": {"from": at(2), "to": at(3)}}


def test_an_empty_table_has_no_range() -> None:
    assert list(ranges_by_partition([])) == []


def test_a_whole_table_is_drilled_since_its_newest_snapshot_that_live_is_ahead_of() -> None:
    snapshots = [snapshot(3, {0: 30}), snapshot(2, {0: 20}), snapshot(1, {0: 10})]
    assert list(ranges_since(snapshots, {0: 30})) == [
        {"sinceSnapshot": "2"},
        {"sinceSnapshot": "1"},
        {"everything": True},
    ]
    assert list(ranges_since([], {})) == [{"everything": True}]


def snapshot(number: int, position: dict[int, int]) -> TableSnapshot:
    return TableSnapshot(Head(str(number)), None, "uuid", position, None, JUNE)


@pytest.mark.parametrize("pipeline", ["orders", "o" * 63])
def test_the_contract_of_a_drill_is_a_good_one_and_known_by_its_label(pipeline: str) -> None:
    contract = drill_contract(pipeline, "ann@example.com", {"everything": True})
    Backfill.model_validate(contract)
    assert is_drill_of(contract, pipeline)
    assert not is_drill_of(contract, "another")
    assert not is_drill_of({"metadata": {"name": "fix"}}, pipeline)


def test_the_code_is_the_same_only_if_nothing_else_has_written() -> None:
    assert same_code((), "new") is None
    assert same_code(("new",), "new") is True
    assert same_code(("new", "old"), "new") is False
