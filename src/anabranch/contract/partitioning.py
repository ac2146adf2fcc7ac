"""How the target is partitioned: what `target.partitionBy` accepts, and the default for a new table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from anabranch.contract.event_window import EventWindow
from anabranch.project.refusals import Problem, refusal, refuse

UNITS = ("hour", "day", "month", "year")
_COLUMN = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_TIME = re.compile(rf"(hour|day|month|year)s?\(\s*({_COLUMN})\s*\)")
_NUMBERED = re.compile(rf"(bucket|truncate)\(\s*([1-9][0-9]{{0,8}})\s*,\s*({_COLUMN})\s*\)")
_EXAMPLE = 'hour, day, month, year or a list such as ["days(ordered_at)", "bucket(16, order_id)"]'
RECORDS_PER_HOUR = 1_000
"""With fewer records per hour, a file per hour costs more than its rows."""


@dataclass(frozen=True)
class PartitionField:
    """One transform of one column, in Iceberg's words."""

    transform: str
    """identity, bucket, truncate, or one of UNITS."""
    column: str | None
    """None: the table's event-time column."""
    width: int | None = None
    """Of bucket and truncate."""

    @property
    def is_time(self) -> bool:
        return self.transform in UNITS

    def __str__(self) -> str:
        """As it is written in a pipeline and in Spark's DDL."""
        if self.transform == "identity":
            return str(self.column)
        if self.width is not None:
            return f"{self.transform}({self.width}, {self.column})"
        return self.transform if self.column is None else f"{self.transform}s({self.column})"


PartitionFields = tuple[PartitionField, ...]


def fields_of(written: str | Iterable[str]) -> PartitionFields:
    """The fields of a pipeline's `partitionBy`, which was checked when it was loaded."""
    if isinstance(written, str):
        return (PartitionField(written, None),)
    return tuple(field for field in map(_field, written) if field is not None)


def _field(text: str) -> PartitionField | None:
    if re.fullmatch(_COLUMN, text):
        return PartitionField("identity", text)
    time = _TIME.fullmatch(text)
    if time is not None:
        return PartitionField(time[1], time[2])
    numbered = _NUMBERED.fullmatch(text)
    return None if numbered is None else PartitionField(numbered[1], numbered[3], int(numbered[2]))


def _check(value: object) -> object:
    if isinstance(value, str):
        if value not in UNITS:
            raise refuse("this is not a partitioning", _EXAMPLE)
        return value
    if not isinstance(value, list | tuple) or not value or not all(isinstance(each, str) for each in value):
        raise refuse("this is not a partitioning", _EXAMPLE)
    problems = list(_problems(value))
    if problems:
        raise refusal(*problems)
    return tuple(value)


def _problems(texts: Iterable[str]) -> Iterator[Problem]:
    seen: list[PartitionField] = []
    for index, text in enumerate(texts):
        field = _field(text)
        if field is None:
            # Without quotes YAML cuts such an entry at its comma.
            known = 'hours(c), days(c), months(c), years(c), "bucket(16, c)", "truncate(4, c)" or the column itself'
            yield Problem("this is not a partition transform of Iceberg", known, (index,))
            continue
        if field.is_time and any(other.is_time for other in seen):
            yield Problem("a table is partitioned by time at most once", "one of hours, days, months, years", (index,))
        elif (field.transform, field.column) in ((other.transform, other.column) for other in seen):
            yield Problem("the column is listed twice with the same transform", "each once", (index,))
        seen.append(field)


def time_problem(written: str | Iterable[str]) -> str | None:
    """Why a time range can't be replaced in a table with this partitioning; None if it can.

    A backfill replaces whole partitions, so one of them must be by time.
    """
    if any(field.is_time for field in fields_of(written)):
        return None
    return "a backfill replaces whole partitions of time, and none of these is by time"


def _schema(schema: dict[str, Any]) -> None:
    schema.pop("anyOf", None)
    listed = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    schema["anyOf"] = [{"enum": list(UNITS)}, listed]


PartitionBy = Annotated[str | tuple[str, ...], BeforeValidator(_check), Field(json_schema_extra=_schema)]


@dataclass(frozen=True)
class Density:
    """How dense the topic is when the table is created: records per time, by the broker's timestamps."""

    records: int
    span: timedelta


def default_unit(window: EventWindow | None, density: Density | None) -> str:
    """The default unit of a new table's partitions.

    Tumbling and sliding windows: hours if one begins at least every hour, else days. Anything else: days if the topic
    has fewer than a thousand records per hour. A topic with less than a day of records gets hours.
    """
    if window is not None and window.size is not None:
        return "hour" if window.step <= timedelta(hours=1) else "day"
    if density is None or density.span < timedelta(days=1):
        return "hour"
    return "hour" if density.records * timedelta(hours=1) >= RECORDS_PER_HOUR * density.span else "day"
