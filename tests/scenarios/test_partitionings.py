"""Backfills of tables that are not partitioned by the hour: the range is widened to their partitions, and exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, MonthTransform

from anabranch.adapters.iceberg.partitioning import OtherPartitioningError
from anabranch.runs.states import State
from tests.scenarios.backfills import JUNE
from tests.scenarios.checker import FIXED, Rows, between, recomputed
from tests.scenarios.shop import CONTRACT, Shop, hours

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
DAY = timedelta(days=1)
BY_DAY = PartitionField(6, 1000, DayTransform(), "ordered_at_day")
PARTITIONINGS = {
    "day": (PartitionSpec(BY_DAY), "day", (JUNE + DAY, JUNE + 2 * DAY)),
    "month": (
        PartitionSpec(PartitionField(6, 1000, MonthTransform(), "ordered_at_month")),
        "[months(ordered_at)]",
        (JUNE, datetime(2025, 7, 1, tzinfo=timezone.utc)),
    ),
    "day, bucket and column": (
        PartitionSpec(
            PartitionField(1, 1001, BucketTransform(4), "order_id_bucket"),
            BY_DAY,
            PartitionField(3, 1002, IdentityTransform(), "currency"),
        ),
        '["bucket(4, order_id)", "days(ordered_at)", "currency"]',
        (JUNE + DAY, JUNE + 2 * DAY),
    ),
}


@pytest.mark.parametrize("name", PARTITIONINGS)
def test_a_backfill_replaces_whole_partitions_and_is_exact(new_shop: Callable[..., Shop], name: str) -> None:
    spec, written, (start, end) = PARTITIONINGS[name]
    said = {"table: shop.orders": f"table: shop.orders\n    partitionBy: {written}"}
    shop = new_shop(partitioned=spec, pipeline=said)
    shop.produce(hours(of=(0, 5, 20, 25, 30, 47, 48, 60, *range(720, 800, 16)), each=12))
    shop.live()
    contract: dict[str, Any] = deepcopy(CONTRACT)
    contract["spec"]["range"] = {"eventTime": {"from": "2025-06-02T02:10:00Z", "to": "2025-06-02T03:50:00Z"}}
    shop.contract.write_text(json.dumps(contract))
    former, run = shop.rows(), shop.plan(slices=2)
    expected = corrected(shop, former, start, end)
    assert expected != former
    shop.apply(run)
    assert run.run.state is State.VALIDATED
    shop.promote(run)
    shop.require(expected)
    shop.roll_back(run)
    shop.require(former)


def corrected(shop: Shop, former: Rows, start: datetime, end: datetime) -> Rows:
    return former - between(former, start, end) + between(recomputed(shop.records(), FIXED), start, end)


def test_a_plan_for_a_table_that_is_partitioned_otherwise_is_refused(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop(pipeline={"table: shop.orders": "table: shop.orders\n    partitionBy: day"})
    shop.produce(hours())
    shop.live()
    with pytest.raises(OtherPartitioningError, match=r"partitioned by hours\(ordered_at\)"):
        shop.plan()
