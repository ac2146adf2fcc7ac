"""What a transform is given as `run` is the same for an event however Spark deals the events out."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from pyspark.sql import functions as F
from tests.fixtures.spark import SparkForTests
from tests.unit.spark.conftest import pipeline, records

from anabranch.adapters.spark.decode.decode import decode, events_of
from anabranch.adapters.spark.transform.load import load_transform

pytestmark = pytest.mark.spark
CODE = """
from pyspark.sql import functions as F

def transform(events, run):
    return events.select(
        "_partition", "_offset", run.clock.alias("at"), run.random("a").alias("a"), run.random("b").alias("b"),
        run.uuid("id").alias("id"),
    )
"""


def test_clock_chance_and_ids_depend_on_the_event_alone(spark: SparkForTests, tmp_path: Path) -> None:
    (tmp_path / "transforms").mkdir()
    (tmp_path / "transforms" / "orders.py").write_text(CODE)
    spec = pipeline(tmp_path, {"n": "bigint"}, event_time={"field": "n", "format": "epochSeconds"})
    transform = load_transform(tmp_path, spec)
    raw = records(spark.session, [b'{"n":%d}' % n for n in range(200)])
    events = events_of(decode(raw, spec.spec))
    one = {row["_offset"]: row for row in transform(events.coalesce(1)).collect()}
    other = {row["_offset"]: row for row in transform(events.repartition(7).orderBy(F.desc("n"))).collect()}
    assert one == other
    assert len({row["id"] for row in one.values()}) == 200
    assert all(UUID(row["id"]) for row in one.values())
    for name in ("a", "b"):
        drawn = [row[name] for row in one.values()]
        assert all(0 <= number < 1 for number in drawn)
        assert 0.3 < sum(drawn) / len(drawn) < 0.7
    assert any(row["a"] != row["b"] for row in one.values())
