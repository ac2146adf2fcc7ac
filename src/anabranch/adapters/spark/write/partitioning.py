"""The partitioning of a new table in Spark's DDL, checked against the columns before the table is created."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from anabranch.adapters.spark.transform.output_rows import OutputError, time_column
from anabranch.contract.partitioning import PartitionField, PartitionFields

_MOMENTS = (TimestampType, TimestampNTZType)
_CUT = (IntegerType, LongType, DecimalType, StringType, BinaryType)
_KINDS: dict[str, tuple[type[DataType], ...]] = {
    "bucket": (*_CUT, DateType, *_MOMENTS),
    "truncate": _CUT,
    **dict.fromkeys(("hour", "day", "month", "year"), _MOMENTS),
}
"""Types that each transform accepts. Days of a date can't be compared with a range of time."""


def partition_clause(columns: StructType, fields: PartitionFields, event_time: str) -> str:
    """PARTITIONED BY (…), or an empty text. Raises if a column is missing or has an unsupported type.

    `event_time` is the time column of a field that names none.
    """
    if not fields:
        return ""
    return f"PARTITIONED BY ({', '.join(_ddl(columns, field, event_time) for field in fields)})"


def _ddl(columns: StructType, field: PartitionField, event_time: str) -> str:
    wanted = field.column or time_column(columns, event_time)
    column = next((each for each in columns.fields if each.name.lower() == wanted.lower()), None)
    if column is None:
        raise _refused(
            f"target.partitionBy has {field}, and the table has no column {wanted}.",
            f"name one of its columns in the pipeline: {', '.join(columns.names)}",
        )
    allowed = _KINDS.get(field.transform)
    fits = not isinstance(column.dataType, StructType | ArrayType | MapType)
    if not fits or (allowed is not None and not isinstance(column.dataType, allowed)):
        raise _refused(
            f"target.partitionBy has {field}, and {column.name} is {column.dataType.simpleString()}: Iceberg has no "
            f"{field.transform} of that type.",
            "name a column of another type, or another transform, in the pipeline",
        )
    name = f"`{column.name}`"
    if field.transform == "identity":
        return name
    return f"{field.transform}s({name})" if field.width is None else f"{field.transform}({field.width}, {name})"


def _refused(what: str, hint: str) -> OutputError:
    return OutputError(what, state="No table was created.", hint=hint)
