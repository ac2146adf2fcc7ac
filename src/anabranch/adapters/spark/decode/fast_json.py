"""Decodes a JSON value from its bytes into columns, by a function in Spark's generated code.

It decodes simple values only and returns null for all others, which `from_json` then decodes. `from_json` allocates a
reader with a buffer per record and has no strict mode: this function takes a third of the time of its strict use.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from anabranch.adapters.spark.native.functions import json_function

_PLAIN = (BooleanType(), DateType(), DoubleType(), IntegerType(), LongType(), StringType(), TimestampType())


def fast_json(value: Column, schema: StructType, zone: str) -> Column:
    """A struct of the schema, or null if `from_json` must decode it. `zone` applies to timestamps without one."""
    return json_function("fast_json", schema, zone, value) if _plain(schema) else F.lit(None).cast(schema)


def _plain(kind: DataType) -> bool:
    match kind:
        case StructType():
            return all(field.nullable and _plain(field.dataType) for field in kind.fields)
        case ArrayType():
            return kind.containsNull and _plain(kind.elementType)
        case _:
            return isinstance(kind, DecimalType) or kind in _PLAIN
