"""Hours and days by a division are those by which Iceberg partitions, before 1970 too and to the microsecond."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.fixtures.spark import SparkForTests

pytestmark = pytest.mark.spark

HOUR, DAY = 3_600_000_000, 86_400_000_000


@pytest.mark.parametrize(
    ("ours", "theirs", "period"),
    [
        ("hours", "HoursFunction$TimestampToHoursFunction", HOUR),
        ("days", "DaysFunction$TimestampToDaysFunction", DAY),
    ],
)
def test_a_period_is_the_one_that_iceberg_says(spark: SparkForTests, ours: str, theirs: str, period: int) -> None:
    jvm: Any = spark.session._jvm
    quick = getattr(jvm.anabranch.Periods, ours)
    slow = getattr(jvm, f"org.apache.iceberg.spark.functions.{theirs}").invoke
    chance = Random(period)
    edges = [number * period + off for number in (-400_000, -25, -1, 0, 1, 480_000) for off in (-1, 0, 1)]
    moments = [*edges, *(chance.randrange(-(10**16), 10**17) for _ in range(300))]
    assert {moment: quick(moment) for moment in moments} == {moment: slow(moment) for moment in moments}
