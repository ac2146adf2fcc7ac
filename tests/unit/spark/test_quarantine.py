"""The quarantine: written once for each batch, counted together, full at its cap."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fixtures.spark import SparkForTests
from tests.unit.spark.conftest import pipeline, records

from anabranch.adapters.spark.decode.decode import NO_EVENT_TIME, NOT_OF_THE_SCHEMA, bad_of, decode
from anabranch.adapters.spark.write.quarantine import Batch, QuarantineFullError, QuarantineTable

pytestmark = pytest.mark.spark

POISON = [b"poison", b'{"at":null}', b'{"at":"2025-06-01T10:00:00Z"}', b"\x00\xff"]


@pytest.mark.long
def test_once_for_each_batch_and_no_more_than_the_cap(spark: SparkForTests, shop: Path) -> None:
    found = pipeline(
        shop,
        {"at": "timestamp"},
        event_time={"field": "at"},
        target={"table": "poison.orders"},
        quarantine={"maxRecords": 7},
    )
    quarantine = QuarantineTable(spark.catalog, found)
    bad = bad_of(decode(records(spark.session, POISON), found.spec))
    for _ in range(2):
        quarantine.prepare(spark.session)

    def live(number: int, query: str = "q1") -> Batch:
        return Batch(f"live-{query}-{number}", f"live-{query}-{number}", None, f"live-{query}-")

    for _ in range(2):
        assert quarantine.set_aside(bad, live(0)) == 3
    assert quarantine.set_aside(bad, live(1)) == 3
    with pytest.raises(QuarantineFullError) as full:
        quarantine.set_aside(bad, live(2))
    assert full.value.fields == {"records": 9, "allowed": 7}
    assert "partition 0 offset 0" in full.value.what
    assert quarantine.set_aside(bad, live(0, "q2"), 3) == 3, "another query counts by itself"
    assert quarantine.set_aside(bad, Batch("r1-s1", "s1", "r1", ""), 3) == 3
    with pytest.raises(QuarantineFullError):
        quarantine.set_aside(bad, Batch("r1-s2", "s2", "r1", ""), 5)

    table = spark.catalog.open().load_table("poison.orders__quarantine")
    rows = table.scan().to_arrow().to_pylist()
    assert len(rows) == 12
    first = sorted((r["offset"], bytes(r["value"]), r["reason"]) for r in rows if r["slice"] == "live-q1-0")
    assert first == [
        (0, b"poison", NOT_OF_THE_SCHEMA),
        (1, b'{"at":null}', NO_EVENT_TIME),
        (3, b"\x00\xff", NOT_OF_THE_SCHEMA),
    ]
    assert {(r["pipeline"], r["topic"], r["partition"], bytes(r["key"])) for r in rows} == {
        ("orders", "shop.orders", 0, b"k")
    }
    assert {(r["run"], r["slice"]) for r in rows} == {
        *((None, f"live-{name}") for name in ("q1-0", "q1-1", "q2-0")),
        ("r1", "s1"),
    }
