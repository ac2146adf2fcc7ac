"""Reads types that Spark's JSON reader parses leniently as text, and converts them strictly, at any depth."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from anabranch.adapters.spark.decode.timestamps import moment

_MOMENTS = (TimestampType, TimestampNTZType, DateType)
_FLOATS = (DoubleType, FloatType)


def as_read(kind: DataType) -> DataType:
    """The type to parse JSON with: timestamps as text.

    Spark would read a number as seconds since 1970, and overflow silently.
    """
    match kind:
        case StructType():
            return StructType([StructField(field.name, as_read(field.dataType)) for field in kind.fields])
        case ArrayType():
            return ArrayType(as_read(kind.elementType))
        case MapType():
            return MapType(kind.keyType, as_read(kind.valueType))
        case _:
            return StringType() if isinstance(kind, _MOMENTS) else kind


def converted(column: Column, kind: DataType) -> Column:
    """Convert a column of type `as_read` to the declared type."""
    if not _holds(kind, _MOMENTS):
        return column
    match kind:
        case StructType():
            fields = [converted(column[field.name], field.dataType).alias(field.name) for field in kind.fields]
            return F.when(column.isNotNull(), F.struct(*fields))
        case ArrayType():
            element = kind.elementType
            return F.transform(column, lambda each: converted(each, element))
        case MapType():
            value = kind.valueType
            return F.transform_values(column, lambda _, each: converted(each, value))
        case _:
            return moment(column, kind.simpleString())


def flawed(read: Column, given: Column, kind: DataType) -> Column | None:
    """Whether the value `read` is invalid for the declared type, by its `converted` form; None if it never is.

    Invalid are text that is no timestamp, and a number beyond the range of a float, which the parser makes infinity.
    """
    if not _holds(kind, _MOMENTS + _FLOATS):
        return None
    match kind:
        case StructType():
            flaws = [flawed(read[field.name], given[field.name], field.dataType) for field in kind.fields]
            return reduce(lambda one, other: one | other, [flaw for flaw in flaws if flaw is not None])
        case ArrayType():
            element = kind.elementType
            return _any(F.zip_with(read, given, lambda one, other: _certain(flawed(one, other, element))))
        case MapType():
            value = kind.valueType
            pairs = F.zip_with(
                F.map_values(read), F.map_values(given), lambda one, other: _certain(flawed(one, other, value))
            )
            return _any(pairs)
        case DoubleType() | FloatType():
            return F.coalesce(F.abs(given) == F.lit(float("inf")), F.lit(False))
        case _:
            return read.isNotNull() & given.isNull()


def _any(flaws: Column) -> Column:
    return F.coalesce(F.exists(flaws, lambda each: each), F.lit(False))


def _certain(flaw: Column | None) -> Column:
    return F.lit(False) if flaw is None else flaw


def _holds(kind: DataType, kinds: tuple[type[DataType], ...]) -> bool:
    match kind:
        case StructType():
            return any(_holds(field.dataType, kinds) for field in kind.fields)
        case ArrayType():
            return _holds(kind.elementType, kinds)
        case MapType():
            return _holds(kind.valueType, kinds)
        case _:
            return isinstance(kind, kinds)
