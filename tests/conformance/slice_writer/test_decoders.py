"""Every decoder of a format gives the same rows for the same records, and drops none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.spark import SparkForTests
from tests.unit.spark.conftest import pipeline, records
from tests.unit.spark.test_decode import AT, BAD, COLUMNS, GOOD, TEXT_OF_ANOTHER_TYPE

from anabranch.adapters.spark.decode.decode import JsonDecoder, bad_of, events_of
from anabranch.adapters.spark.ports import Decoder
from anabranch.contract.pipeline import PipelineSpec

pytestmark = pytest.mark.spark

PLAIN_COLUMNS = {name: kind for name, kind in COLUMNS.items() if not kind.startswith("map")}


@dataclass(frozen=True)
class DecoderCase:
    name: str
    make: Callable[[PipelineSpec], Decoder]
    good: tuple[bytes, ...]
    bad: tuple[bytes, ...]
    columns: Mapping[str, str]
    """In which the good ones are good and the bad ones bad."""


ODD = (f'{{{AT},"price":0.005}}', f'{{{AT},"ratio":1e300}}', f'{{{AT},"tags":[null]}}')
JSON = (
    tuple(text.encode() for text in (*GOOD, *TEXT_OF_ANOTHER_TYPE, *ODD)),
    tuple(value for value in BAD if b"sizes" not in value),
    PLAIN_COLUMNS,
)
DECODERS = (
    DecoderCase("json", lambda spec: JsonDecoder(spec, fast=False), *JSON),
    DecoderCase("json-fast", lambda spec: JsonDecoder(spec, fast=True), *JSON),
)
"""The registry. The first one of a format is the one that the others are compared with."""
every_decoder = pytest.mark.parametrize("case", DECODERS, ids=lambda case: case.name)


def decoded(spark: SparkForTests, shop: Path, case: DecoderCase) -> list[dict[str, Any]]:
    """Good ones, bad ones and a tombstone, in the order of their offsets."""
    spec = pipeline(shop, case.columns, event_time={"field": "at"}).spec
    frame = case.make(spec)(records(spark.session, [*case.good, *case.bad, None]))
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return sorted(rows, key=lambda row: int(row["_offset"]))


@every_decoder
def test_every_record_is_an_event_or_bad_with_its_reason_or_a_tombstone(
    spark: SparkForTests, shop: Path, case: DecoderCase
) -> None:
    rows = decoded(spark, shop, case)
    good, bad = len(case.good), len(case.bad)
    assert [row["_offset"] for row in rows] == list(range(good + bad + 1)), "none is dropped, none doubled"
    assert [row["_reason"] for row in rows[:good]] == [None] * good
    assert all(row["_event_time"] is not None for row in rows[:good])
    for value, row in zip(case.bad, rows[good:-1], strict=True):
        assert row["_reason"], value
        assert bytes(row["_raw"]) == value, "as it came"
    assert (rows[-1]["_tombstone"], rows[-1]["_reason"]) == (True, None)
    assert not any(row["_tombstone"] for row in rows[:-1])
    assert [row["_bytes"] for row in rows] == [1 + len(value) for value in (*case.good, *case.bad, b"")]


@every_decoder
def test_events_and_bad_records_are_all_but_the_tombstones(spark: SparkForTests, shop: Path, case: DecoderCase) -> None:
    spec = pipeline(shop, case.columns, event_time={"field": "at"}).spec
    frame = case.make(spec)(records(spark.session, [case.good[0], case.bad[0], None]))
    assert [row["_offset"] for row in events_of(frame).collect()] == [0]
    assert [row["offset"] for row in bad_of(frame).collect()] == [1]


@every_decoder
def test_decoders_of_one_format_give_the_same_rows(spark: SparkForTests, shop: Path, case: DecoderCase) -> None:
    reference = next(each for each in DECODERS if each.name.split("-")[0] == case.name.split("-")[0])
    for one, other in zip(decoded(spark, shop, reference), decoded(spark, shop, case), strict=True):
        assert one == other
