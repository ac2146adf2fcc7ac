"""Fetches under a limit are small, so that the broker sends no more at once than the limit has room for."""

from __future__ import annotations

import pytest

from anabranch.adapters.spark.source.kafka_source import TUNED, rate_options, tuned_options
from anabranch.adapters.spark.source.read_meter import LARGEST_FETCH, SMALLEST_FETCH, fetch_options

SIZE = "kafka.max.partition.fetch.bytes"


@pytest.mark.parametrize("partitions", [1, 3, 12])
@pytest.mark.parametrize("rate", [200_000, 1 << 20, 20 << 20])
def test_two_fetches_of_every_partition_are_a_quarter_of_a_second_at_most(rate: int, partitions: int) -> None:
    size = int(fetch_options(rate, partitions)[SIZE])
    assert size == SMALLEST_FETCH or 2 * size * partitions <= rate / 4


@pytest.mark.parametrize(("rate", "size"), [(1, SMALLEST_FETCH), (1 << 40, LARGEST_FETCH)])
def test_a_fetch_is_neither_tiny_nor_larger_than_without_a_limit(rate: int, size: int) -> None:
    assert fetch_options(rate, 1)[SIZE] == str(size)


def test_without_a_limit_nothing_changes() -> None:
    tuned = tuned_options({"fetch.max.bytes": "1000000"})
    limited, free = (rate_options("anabranch-x", rate, 3, tuned) for rate in (1 << 20, None))
    assert limited | free == free, "a read prepared under a limit has the settings of its group without it"
    assert (free["kafka.group.id"], free["kafka.fetch.max.bytes"]) == ("anabranch-x", "1000000")
    assert free["kafka.max.partition.fetch.bytes"] == TUNED["kafka.max.partition.fetch.bytes"]


def test_consumers_with_other_fetches_are_another_group_below_the_same_prefix() -> None:
    """Spark keeps consumers by their group, and fails when one group has two settings."""
    groups = {rate_options("anabranch-x", rate, 1, TUNED)["kafka.group.id"] for rate in (None, 1 << 20, 10 << 20)}
    assert len(groups) == 3
    assert all(each.startswith("anabranch-x") for each in groups)
