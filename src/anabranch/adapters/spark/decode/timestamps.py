"""Parses timestamps of events, independently of the current date."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, TimestampType

_DATE = r"(?!0000)\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}:\d{2}([.]\d{1,9})?"
_ZONE = r"(Z|[+-]\d{2}:?\d{2})"

# Spark's cast reads "12:30" as a time of today, and "2025" as 1 January: the same event would give another row
# tomorrow. (`\z`, because `$` also matches before a line end.)
_FORMS = {
    "timestamp": rf"^{_DATE}[T ]{_TIME}{_ZONE}?\z",
    "timestamp_ntz": rf"^{_DATE}[T ]{_TIME}\z",
    "date": rf"^{_DATE}\z",
}

_MICROS = {"epochSeconds": 1_000_000, "epochMillis": 1_000, "epochMicros": 1}
FIRST, LAST = -62_135_596_800, 253_402_300_799
"""Seconds of the years 1 to 9999, the range that Python and other readers of the table support."""


def moment(text: Column, kind: str) -> Column:
    """ISO 8601 text as a timestamp, timestamp_ntz or date; null unless it is one. No zone means UTC, the session's."""
    return F.when(text.rlike(_FORMS[kind]), text.try_cast(kind))


def event_time(column: Column, kind: DataType, form: str) -> Column:
    """The event time, from a column in its declared type; null if there is none."""
    if form == "iso8601":
        return column if isinstance(kind, TimestampType) else moment(column, "timestamp")
    factor = _MICROS[form]
    number = column if isinstance(kind, DoubleType) else column.cast("bigint")
    within = number.between(F.lit(FIRST * (1_000_000 // factor)), F.lit(LAST * (1_000_000 // factor)))
    # The bounds keep the product within 64 bits; Spark would fail the job on an overflow.
    return F.when(within, F.timestamp_micros(F.try_multiply(number, F.lit(factor)).try_cast("bigint")))
