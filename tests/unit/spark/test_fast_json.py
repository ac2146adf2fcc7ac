"""The fast decoder may decline a value, but what it gives must be what `from_json` gives."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from tests.fixtures.spark import SparkForTests
from tests.unit.spark.conftest import pipeline, records
from tests.unit.spark.test_decode import AT, BAD, COLUMNS, GOOD, NO_MOMENTS, TEXT_OF_ANOTHER_TYPE

from anabranch.adapters.jvm.artifacts import ArtifactCache, locked
from anabranch.adapters.jvm.java import find_java
from anabranch.adapters.spark.decode.decode import declared_columns, decode
from anabranch.adapters.spark.decode.fast_json import fast_json
from anabranch.adapters.spark.native.functions import FunctionsNotCompiledError, functions_jar

pytestmark = pytest.mark.spark

PLAIN = {name: kind for name, kind in COLUMNS.items() if not kind.startswith("map")}
VALUES = 20_000 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 3_000

ODD: Sequence[object] = [
    *(None, True, False, 0, -1, 7, 2**31, 2**63, -(2**63), 10**30, 0.1, 1e300, 126.03999999999999, 12.505, -0.005),
    *("", "x", "5", "12.5", "true", "null", "ž\u0000🐎", "\ud800", "2025-06-01", "0000-01-01", "2025-02-30"),
    *(
        "2025-06-01T10:00:00Z",
        "2025-06-01 10:00:00.123456789-0930",
        "2025-06-01T10:00:00+24:00",
        "2025-06-01T24:00:00Z",
    ),
    *(
        [],
        {},
        [None],
        ["x"],
        [1, "two"],
        [[1]],
        {"name": "Brno", "floors": [1, None]},
        {"since": "2025-06-01T10:00:00"},
    ),
    *NO_MOMENTS,
]
RAW = [
    *("-0", "-0.0", "00", "01", "-01", "1.", ".5", "-", "+1", "1e", "1e5", "1E+2", "-1.5e-3", "1e400", "1_0", "0x1"),
    *("123456789012345678", "-12345678901234567", "1234567890123456789", "99999999.99", "999999999.995", "1.005"),
    *("0.000000000000000001", "0." + "1" * 70, "1" * 70, "1" * 1100, "true", "tru", "truex", "nul", "NaN", "Infinity"),
    *(r'"a\u0041\n"', r'"\""', r'"\x"', '"\t"', '"\x7f"', '"', "'x'", "[1,]", "[,1]", "[1 2]", '{"a":1,}', '{"a"}'),
    *("[" * 70 + "]" * 70, "[" * 1100 + "]" * 1100, '{"a":[{"b":[1,{"c":null}]}],"d":"e"}', "[1,2", "/* */1", ""),
]
"""What no dictionary of Python's can be written as."""


def test_it_gives_what_from_json_gives(spark: SparkForTests, shop: Path) -> None:
    values = [*(text.encode() for text in (*GOOD, *TEXT_OF_ANOTHER_TYPE)), *BAD, *_made_up(Random(7), VALUES)]
    spec = pipeline(shop, PLAIN, event_time={"field": "at"}).spec

    assert "FastJsonDecoder" in _plan(spark, spec, fast=True)
    with_it = _rows(spark, values, spec, fast=True)
    without = _rows(spark, values, spec, fast=False)

    assert "FastJsonDecoder" not in _plan(spark, spec, fast=False)
    assert {row["_reason"] is None for row in without} == {True, False}, "good and bad ones are among them"
    for value, one, other in zip(values, with_it, without, strict=True):
        assert one == other, value


def test_plain_values_are_decoded_fast(spark: SparkForTests, shop: Path) -> None:
    spec = pipeline(shop, PLAIN, event_time={"field": "at"}).spec
    plain = [
        f'{{{AT},"id":"a","n":1,"small":2,"price":1.5,"ratio":0.25,"ok":true,"day":"2025-06-01"}}',
        f'{{{AT},"id":null,"tags":["x",null,"ž"],"times":["2025-06-01T10:00:00.5+02:00"],"more":[{{}}]}}  ',
        f'{{{AT},"place":{{"name":"Brno","since":"1999-12-31T23:59:59","floors":[1,2]}}}}',
    ]
    not_plain = [f" {plain[0]}", f"{plain[0]} x", f'{{{AT},"n":"1"}}', "[]", "5", f'{{{AT},"price":1e-99999}}']

    assert _decoded_fast(spark, plain, spec) == [True] * len(plain)
    assert _decoded_fast(spark, not_plain, spec) == [False] * len(not_plain)


def test_columns_that_it_does_not_know_are_left_to_from_json(spark: SparkForTests, shop: Path) -> None:
    spec = pipeline(shop, COLUMNS, event_time={"field": "at"}).spec

    assert _decoded_fast(spark, GOOD[:3], spec) == [False] * 3


def test_sources_that_are_no_java_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "Broken.java").write_text("class Broken { nonsense }")
    monkeypatch.setattr("anabranch.adapters.spark.native.functions.SOURCES", tmp_path / "java")

    with pytest.raises(FunctionsNotCompiledError, match=r"Broken\.java"):
        functions_jar(find_java(), (), tmp_path / "cache")

    assert not list((tmp_path / "cache").rglob("*.jar")), "nothing half made is left to be found the next time"


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "functions").write_text("a file where a folder should be")

    with pytest.raises(FunctionsNotCompiledError) as refused:
        functions_jar(find_java(), (), tmp_path)

    assert "ANABRANCH_CACHE" in refused.value.remedy


@pytest.mark.long
def test_they_are_compiled_once(tmp_path: Path) -> None:
    jars = ArtifactCache().fetch(locked("spark"))
    jar = functions_jar(find_java(), jars, tmp_path)
    made = jar.stat().st_mtime_ns

    assert functions_jar(find_java(), jars, tmp_path) == jar
    assert jar.stat().st_mtime_ns == made


def _rows(spark: SparkForTests, values: Sequence[bytes], spec: Any, *, fast: bool) -> list[dict[str, Any]]:
    found = decode(records(spark.session, values), spec, fast=fast).collect()
    return [row.asDict(recursive=True) for row in sorted(found, key=lambda row: row["_offset"])]


def _plan(spark: SparkForTests, spec: Any, *, fast: bool) -> str:
    return str(decode(records(spark.session, []), spec, fast=fast)._jdf.queryExecution().analyzed().toString())


def _decoded_fast(spark: SparkForTests, values: Sequence[str], spec: Any) -> list[bool]:
    schema = declared_columns(spec)
    assert isinstance(schema, StructType)
    column = fast_json(F.col("value"), schema, "UTC").isNotNull()
    found = records(spark.session, [each.encode() for each in values]).select("offset", column.alias("fast"))
    return [row["fast"] for row in sorted(found.collect(), key=lambda row: row["offset"])]


def _made_up(chance: Random, count: int) -> list[bytes]:
    """Mostly objects of the schema, with odd things in odd places, and now and then a byte too many or too few."""
    return [_spoiled(chance, _object(chance)) for _ in range(count)]


def _object(chance: Random) -> bytes:
    names = chance.sample([*PLAIN, "unknown", "ID"], chance.randint(0, 5))
    fields = [f"{json.dumps(name)}:{_value(chance, name)}" for name in names]
    if chance.random() < 0.9:
        fields.insert(chance.randint(0, len(fields)), AT)
    between = chance.choice((",", " , ", ",\n"))
    return f"{{{between.join(fields)}}}".encode("utf-8", "replace")


def _value(chance: Random, name: str) -> str:
    usual = {
        "id": '"order-7"',
        "n": "12",
        "small": "-3",
        "price": "1.50",
        "ratio": "2.5e3",
        "ok": "true",
        "day": '"2025-06-01"',
        "at": '"2025-06-01T10:00:00.5Z"',
        "tags": '["a","b"]',
        "times": '["2025-06-01T10:00:00+0200"]',
        "place": '{"name":"Brno","since":null,"floors":[1,2]}',
    }
    if chance.random() < 0.6 and name in usual:
        return usual[name]
    if chance.random() < 0.3:
        return f'"{_moment(chance)}"'
    if chance.random() < 0.3:
        return chance.choice(RAW)
    return json.dumps(chance.choice(ODD), ensure_ascii=chance.random() < 0.5)


def _moment(chance: Random) -> str:
    """Of any year, in any form that is known to somebody, or nearly so."""
    year = chance.choice((chance.randint(0, 9999), 1900, 2000, 2024, 2025))
    day = f"{year:04}-{chance.choice((2, chance.randint(0, 13))):02}-{chance.choice((28, 29, 30, 31, 1, 0)):02}"
    time = f"{chance.randint(0, 24):02}:{chance.choice((0, 59, 60)):02}:{chance.choice((0, 59, 60)):02}"
    fraction = chance.choice(("", "", ".", ".5", ".123456", ".1234567", ".000000001"))
    zone = chance.choice(
        ("", "Z", "z", "+00:00", "-09:30", "+14:00", "-17:59", "+18:00", "+18:01", "+0200", "+02", " UTC")
    )
    return chance.choice((day, f"{day}{chance.choice('TTT t')}{time}{fraction}{zone}"))


def _spoiled(chance: Random, value: bytes) -> bytes:
    at = chance.randint(0, len(value))
    return chance.choice(
        [
            *[value] * 8,
            value + chance.choice((b" ", b"\n\t", b" x", b"}", b",", b"{}", b"\x00", b'],"x":[2')),
            value[:at],
            value[:at] + bytes([chance.randrange(256)]) + value[at:],
            value[:at]
            + chance.choice((b"\xc3\x28", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc5\xbe"))
            + value[at:],
            value.decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-16-le", "utf-32-be", "utf-8-sig"))),
        ]
    )
