"""Decoding, against a plain recomputation in Python over values that a topic may really hold."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.spark import SparkForTests
from tests.unit.spark.conftest import STAMP, pipeline, records

from anabranch.adapters.spark.decode.decode import (
    NO_EVENT_TIME,
    NOT_OF_THE_SCHEMA,
    bad_of,
    decode,
    events_of,
)

pytestmark = pytest.mark.spark

COLUMNS = {
    "id": "string",
    "n": "bigint",
    "small": "int",
    "price": "decimal(18,2)",
    "ratio": "double",
    "ok": "boolean",
    "at": "timestamp",
    "day": "date",
    "tags": "array<string>",
    "times": "array<timestamp>",
    "sizes": "map<string,double>",
    "place": "struct<name:string,since:timestamp,floors:array<int>>",
}
AT = '"at":"2025-06-01T10:00:00Z"'

GOOD = [
    f'{{{AT},"id":"a","n":1,"small":2,"price":1.5,"ratio":0.25,"ok":true,"day":"2025-06-01"}}',
    f'{{{AT}}}',
    f' {{ {AT} }} \n\t',
    f'{{{AT},"id":null,"n":null,"tags":null,"place":null,"sizes":null,"times":null}}',
    f'{{{AT},"tags":["x",null,"ž"],"times":["2025-06-01T10:00:00.5+02:00",null],"sizes":{{"a":1.5,"b":null}}}}',
    f'{{{AT},"place":{{"name":"Brno","since":"1999-12-31T23:59:59","floors":[1,2]}}}}',
    f'{{{AT},"place":{{}}}}',
    f'{{{AT},"tags":[],"times":[],"sizes":{{}}}}',
    f'{{{AT},"n":9223372036854775807,"small":-2147483648}}',
    f'{{{AT},"price":12.505,"ratio":1e-320}}',
    f'{{{AT},"price":"12.5"}}',
    f'{{{AT},"n":1,"n":2}}',
    f'{{{AT},"n":7,"n":null}}',
    f'{{{AT},"unknown":[1,{{"deep":[[]]}}]}}',
    f'{{{AT},"ID":"another case is another field"}}',
    f'{{{AT},"id":""}}',
    f'{{{AT},"id":"žluťoučký 🐎 \\u0000 \\" \\\\ \\n"}}',
    '{"at":"2025-06-01 10:00:00Z"}',
    '{"at":"2025-06-01T10:00:00.123456789+0530"}',
    '{"at":"2025-06-01T23:30:00"}',
    '{"at":"0002-01-01T00:00:00Z"}',
    '{"at":"9999-12-31T23:59:59Z"}',
]  # fmt: skip

TEXT_OF_ANOTHER_TYPE = [f'{{{AT},"id":5}}', f'{{{AT},"id":{{"a":1}}}}', f'{{{AT},"id":true}}']

NO_MOMENTS: list[object] = [
    *(
        "12:30",
        "T12:30",
        "2025-06-01T10:00Z",
        "2025",
        "2025-06",
        "2025-06-01",
        "now",
        "today",
        "epoch",
        " 2025-06-01T10:00:00Z",
    ),
    *("2025-06-01T25:00:00Z", "2025-06-01T10:00:60Z", "2025-13-01T10:00:00Z", "2025-06-01T10:00:00 Europe/Prague"),
    *(" 2025-06-01T10:00:00Z", "2025-06-01T10:00:00Z\n"),
    *("10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", 1748772000, 1e300, True, [], {}),
]

BAD: list[bytes] = [
    b"",
    b"   ",
    b"null",
    b"5",
    b'"text"',
    b"[]",
    b"nonsense",
    b"{",
    b'{"at":"2025-06-01T10:00:00Z"',
    b'{"at":"2025-06-01T10:00:00Z"}}',
    b'{"at":"2025-06-01T10:00:00Z"}]',
    b'{"at":"2025-06-01T10:00:00Z"} and more',
    b'{"at":"2025-06-01T10:00:00Z"}{"at":"2025-06-01T10:00:00Z"}',
    b'{"at":"2025-06-01T10:00:00Z"},{"at":"2025-06-01T10:00:00Z"}',
    b'{"at":"2025-06-01T10:00:00Z"},"n":1',
    b'{"at":"2025-06-01T10:00:00Z"}],"h":1}',
    b'{"at":"2025-06-01T10:00:00Z"}],"x":[2',
    b'{"at":"2025-06-01T10:00:00Z"},{}],"v":[{"at":"2025-06-01T10:00:00Z"}',
    b'{"at":"2025-06-01T10:00:00Z"}]} {"v":[{"at":"2025-06-01T10:00:00Z"}',
    b'[{"at":"2025-06-01T10:00:00Z"}]',
    b"{'at':'2025-06-01T10:00:00Z'}",
    b'{"at":"2025-06-01T10:00:00Z",}',
    b'{"at":"2025-06-01T10:00:00Z","id":"\xff"}',
    b"\xff\xfe\x00",
    b"\x00",
    b'\xef\xbb\xbf{"at":"2025-06-01T10:00:00Z"}',
    b'{"at":"2025-06-01T10:00:00Z","id":"a\nb"}',
    b'{"at":"2025-06-01T10:00:00Z","n":' + b"[" * 3000 + b"]" * 3000 + b"}",
    *(
        f"{{{AT},{field}}}".encode()
        for field in (
            '"n":"1"',
            '"n":1.0',
            '"n":1e3',
            '"n":9223372036854775808',
            '"n":123456789012345678901234567890',
            '"n":01',
            '"n":true',
            '"n":[]',
            '"small":2147483648',
            '"price":1e20',
            '"price":1e999999999',
            '"price":"twelve"',
            '"price":""',
            '"ratio":NaN',
            '"ratio":-Infinity',
            '"ratio":"NaN"',
            '"ratio":1e400',
            '"ratio":"1.5"',
            '"ok":1',
            '"ok":"true"',
            '"day":"2025-02-30"',
            '"day":"2025-6-1"',
            '"day":20250601',
            '"tags":"x"',
            '"tags":{"a":1}',
            '"times":["2025-06-01T10:00:00Z","soon"]',
            '"times":[1748772000]',
            '"sizes":{"a":"x"}',
            '"sizes":{"a":1e999}',
            '"sizes":[1]',
            '"place":"Brno"',
            '"place":[]',
            '"place":{"since":"never"}',
            '"place":{"floors":[1,"two"]}',
        )
    ),
    *(json.dumps({"at": at}).encode() for at in NO_MOMENTS),
]  # fmt: skip


def _moment(text: object) -> datetime | None:
    if text is None:
        return None
    form = r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d))?"
    found = re.fullmatch(form, text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    micros = int((found[7] or "").ljust(6, "0")[:6])
    offset = timedelta(hours=int(found[9] or 0), minutes=int(found[10] or 0)) * (-1 if found[8] == "-" else 1)
    return datetime(year, month, day, hour, minute, second, micros, timezone.utc) - offset


def _cents(value: object) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, str) and not value:
        raise ValueError
    number = Decimal(str(value))
    if number.adjusted() > 15:
        raise ValueError(value)
    return number.quantize(Decimal("0.01"), ROUND_HALF_UP)


def recomputed(value: bytes) -> dict[str, Any]:
    """What a good value means, by Python's own JSON reader."""
    found = json.loads(value, parse_float=Decimal)
    place = found.get("place")
    return {
        "id": found.get("id"),
        "n": found.get("n"),
        "small": found.get("small"),
        "price": _cents(found.get("price")),
        "ratio": None if found.get("ratio") is None else float(found["ratio"]),
        "ok": found.get("ok"),
        "at": _moment(found["at"]),
        "day": None if found.get("day") is None else datetime.strptime(found["day"], "%Y-%m-%d").date(),
        "tags": found.get("tags"),
        "times": None if found.get("times") is None else [_moment(each) for each in found["times"]],
        "sizes": None
        if found.get("sizes") is None
        else {key: None if size is None else float(size) for key, size in found["sizes"].items()},
        "place": None
        if place is None
        else {"name": place.get("name"), "since": _moment(place.get("since")), "floors": place.get("floors")},
    }


def _utc(value: Any) -> Any:
    """Spark's Python side gives naive moments of the machine's zone."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc)
    if isinstance(value, list):
        return [_utc(each) for each in value]
    if isinstance(value, dict):
        return {key: _utc(each) for key, each in value.items()}
    return value


def test_every_good_value_means_what_python_makes_of_it(spark: SparkForTests, shop: Path) -> None:
    spec = pipeline(shop, COLUMNS, event_time={"field": "at"}).spec
    values = [text.encode() for text in GOOD]
    other = [text.encode() for text in TEXT_OF_ANOTHER_TYPE]
    decoded = decode(records(spark.session, [*values, *other, None]), spec)

    rows = sorted(events_of(decoded).collect(), key=lambda row: row["_offset"])
    found = [{name: _utc(row.asDict(recursive=True)[name]) for name in COLUMNS} for row in rows]

    assert found[: len(values)] == [recomputed(value) for value in values]
    assert [each["id"] for each in found[len(values) :]] == ["5", '{"a":1}', "true"], "text keeps what is not text"
    assert [_utc(row["_event_time"]) for row in rows] == [each["at"] for each in found]
    assert len(rows) == decoded.count() - 1, "the tombstone is neither an event"
    assert bad_of(decoded).count() == 0, "nor poison"
    assert {(row["_topic"], row["_partition"], bytes(row["_key"]), _utc(row["_timestamp"])) for row in rows} == {
        ("shop.orders", 0, b"k", STAMP)
    }


def test_every_bad_value_is_set_aside_with_its_bytes(spark: SparkForTests, shop: Path) -> None:
    spec = pipeline(shop, COLUMNS, event_time={"field": "at"}).spec
    good = GOOD[0].encode()
    values = [each for bad in BAD for each in (bad, good)]
    decoded = decode(records(spark.session, values), spec)

    bad = sorted(bad_of(decoded).collect(), key=lambda row: row["offset"])

    assert [bytes(row["value"]) for row in bad] == BAD
    assert {row["reason"] for row in bad} == {NOT_OF_THE_SCHEMA}
    assert [row["offset"] for row in bad] == list(range(0, 2 * len(BAD), 2))
    assert {(row["topic"], row["partition"], bytes(row["key"]), _utc(row["timestamp"])) for row in bad} == {
        ("shop.orders", 0, b"k", STAMP)
    }
    assert events_of(decoded).count() == len(BAD)


BASE = 1_748_772_000


@pytest.mark.parametrize(
    ("kind", "form", "values"),
    [
        ("string", "iso8601", {'"2025-06-01T10:00:00Z"': BASE, '"later"': None, "null": None, '""': None, "17": None}),
        ("bigint", "epochSeconds", {"1748772000": BASE, "-1": -1, "0": 0, "null": None, "253402300800": None}),
        ("int", "epochSeconds", {"1748772000": BASE, "-2147483648": -2147483648}),
        ("bigint", "epochMillis", {"1748772000123": BASE + 0.123, "9223372036854775807": None}),
        ("bigint", "epochMicros", {"1748772000000001": BASE + 0.000001, "-9223372036854775808": None}),
        ("double", "epochSeconds", {"1748772000.25": BASE + 0.25, "1e300": None, "-1e300": None}),
        ("double", "epochMillis", {"1748772000000.5": BASE + 0.0005}),
    ],
)
def test_event_times(spark: SparkForTests, shop: Path, kind: str, form: str, values: dict[str, float | None]) -> None:
    spec = pipeline(shop, {"at": kind}, event_time={"field": "AT", "format": form}).spec
    decoded = decode(records(spark.session, [f'{{"at":{text}}}'.encode() for text in values]), spec)

    found = {row["_offset"]: _utc(row["_event_time"]) for row in events_of(decoded).collect()}
    reasons = {row["offset"]: row["reason"] for row in bad_of(decoded).collect()}

    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    wanted = {n: epoch + timedelta(seconds=t) for n, t in enumerate(values.values()) if t is not None}
    assert found == wanted
    assert reasons == {n: NO_EVENT_TIME for n, t in enumerate(values.values()) if t is None}


def test_the_record_time_may_be_the_event_time(spark: SparkForTests, shop: Path) -> None:
    spec = pipeline(shop, {"id": "string"}, event_time={"field": "_timestamp"}).spec
    [row] = events_of(decode(records(spark.session, [b"{}"]), spec)).collect()

    assert _utc(row["_event_time"]) == STAMP


def test_the_reader_in_python_refuses_what_is_called_bad_syntax(spark: SparkForTests) -> None:
    """The lists above are not our own opinion: Python's reader agrees about every good one."""
    for text in GOOD:
        assert recomputed(text.encode())["at"] is not None
    refused = 0
    for value in BAD:
        try:
            recomputed(value)
        except (ValueError, TypeError, AttributeError, KeyError, InvalidOperation, RecursionError):
            refused += 1
    assert refused >= 50
