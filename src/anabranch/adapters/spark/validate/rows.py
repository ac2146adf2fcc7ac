"""Rows in a canonical form for hashing, comparison and display, for all types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, VariantType

from anabranch.validate.measures import Row

LONGEST = 500
"""Maximum displayed characters of one value."""

_SHOWN = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_LOW = 0xFFFFFFFF


def named(name: str) -> Column:
    """The column with exactly this name, with any characters."""
    return sf.col(f"`{name.replace('`', '``')}`")


def form(column: Column, kind: DataType) -> Column:
    """A value that is equal, and has an equal hash, exactly if the original is: nulls are distinct, maps are sorted.

    Spark's hash skips nulls and refuses maps, and its comparison refuses maps. Therefore a value is paired with whether
    it is null, a list with its length, and a map becomes the list of its entries in the order of its keys.
    """
    match kind:
        case StructType():
            inner = sf.struct(
                *(form(column[field.name], field.dataType).alias(f"f{i}") for i, field in enumerate(kind))
            )
        case ArrayType():
            elements = sf.transform(column, lambda element: form(element, kind.elementType))
            inner = sf.struct(sf.size(column).alias("size"), elements.alias("elements"))
        case MapType():
            entries = sf.transform(
                sf.map_entries(column),
                lambda entry: sf.struct(
                    form(entry["key"], kind.keyType).alias("key"), form(entry["value"], kind.valueType).alias("value")
                ),
            )
            inner = sf.struct(sf.size(column).alias("size"), sf.array_sort(entries).alias("entries"))
        case VariantType():
            inner = sf.to_json(column)
        case _:
            inner = column
    return sf.struct(column.isNull().alias("null"), inner.alias("value"))


def fields_by_name(schema: StructType) -> list[StructField]:
    """In an order that does not depend on how the table was declared."""
    return sorted(schema.fields, key=lambda field: field.name)


def forms(fields: Iterable[StructField]) -> list[Column]:
    return [form(named(field.name), field.dataType) for field in fields]


def hashes(schema: StructType) -> tuple[Column, Column]:
    """Two independent hashes of a whole row, 128 bits in total, so that collisions are negligible."""
    values = forms(fields_by_name(schema))
    return sf.xxhash64(sf.lit(1), *values), sf.xxhash64(sf.lit(2), *values)


def sums(number: Column, name: str) -> list[Column]:
    """The sum of 64-bit numbers in two halves: exact up to 4 billion rows, an error beyond."""
    high, low = sf.shiftright(number, 32), number.bitwiseAND(sf.lit(_LOW))
    return [sf.sum(high).alias(f"{name}_high"), sf.sum(low).alias(f"{name}_low")]


def joined(high: int, low: int) -> int:
    """The sum from `sums`, modulo 2^64."""
    return ((high << 32) + low) % (1 << 64)


def shown(schema: StructType) -> Column:
    """The row as JSON text, timestamps in UTC to the microsecond."""
    return sf.to_json(sf.struct(*(named(field.name) for field in schema.fields)), _SHOWN)


def read_shown(texts: Iterable[str]) -> tuple[Row, ...]:
    return tuple(_row(text) for text in texts)


def sample(frame: DataFrame, limit: int) -> tuple[Row, ...]:
    """A sample of the frame's rows. Columns with equal names get distinct names."""
    frame = frame.toDF(*_distinct(frame.columns)) if frame.columns else frame
    rows = frame.select(shown(frame.schema).alias("row")).limit(limit).collect()
    return read_shown(row["row"] for row in rows)


def _distinct(names: Sequence[str]) -> list[str]:
    unique: list[str] = []
    for name in names:
        new, number = name, 2
        while new in unique:
            new, number = f"{name} ({number})", number + 1
        unique.append(new)
    return unique


def _row(text: str) -> Row:
    # Fractions as text, so that a decimal keeps its last digit and trailing zeros.
    return {name: _short(value) for name, value in json.loads(text, parse_float=str).items()}


def _short(value: object) -> object:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
