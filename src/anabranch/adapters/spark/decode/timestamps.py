"""Moments as events write them, read alike on whatever day they are read."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DoubleType, TimestampType

_DATE = r"(?!0000)\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}:\d{2}([.]\d{1,9})?"
_ZONE = r"(Z|[+-]\d{2}:?\d{2})"

# Spark's own cast takes "12:30" for today at half past twelve, and "2025" for New Year: the same event would be
# another row tomorrow. (`\z`, since `$` would let a line end behind it pass.)
_FORMS = {
    "timestamp": rf"^{_DATE}[T ]{_TIME}{_ZONE}?\z",
    "timestamp_ntz": rf"^{_DATE}[T ]{_TIME}\z",
    "date": rf"^{_DATE}\z",
}

_MICROS = {"epochSeconds": 1_000_000, "epochMillis": 1_000, "epochMicros": 1}
FIRST, LAST = -62_135_596_800, 253_402_300_799
"""Seconds of the years 1 to 9999: what other readers of the table, Python among them, can show."""


def moment(text: Column, kind: str) -> Column:
    """ISO 8601 text as a timestamp, timestamp_ntz or date; null unless it is one. No zone means UTC, the session's."""
    return F.when(text.rlike(_FORMS[kind]), text.try_cast(kind))


def event_time(column: Column, kind: DataType, form: str) -> Column:
    """When the event happened, by a column of the schema already in its declared type; null if it does not say."""
    if form == "iso8601":
        return column if isinstance(kind, TimestampType) else moment(column, "timestamp")
    factor = _MICROS[form]
    number = column if isinstance(kind, DoubleType) else column.cast("bigint")
    within = number.between(F.lit(FIRST * (1_000_000 // factor)), F.lit(LAST * (1_000_000 // factor)))
    # The bounds keep the product inside 64 bits; beyond them Spark would stop the job rather than give a null.
    return F.when(within, F.timestamp_micros(F.try_multiply(number, F.lit(factor)).try_cast("bigint")))
