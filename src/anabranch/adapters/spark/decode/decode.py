"""From Kafka records to events: decodes every value by the declared schema, or marks the record bad with a reason."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import lru_cache, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from anabranch.adapters.spark.decode.fast_json import fast_json
from anabranch.adapters.spark.decode.json_types import as_read, converted, flawed
from anabranch.adapters.spark.decode.record_keys import with_key
from anabranch.adapters.spark.decode.timestamps import event_time
from anabranch.adapters.spark.native.functions import json_function
from anabranch.contract.pipeline import EventTime, PipelineSpec

NOT_OF_THE_SCHEMA = "value is not JSON of the schema"
NO_EVENT_TIME = "no event time"
TIMESTAMP_OUT_OF_RANGE = "timestamp out of range"
"""Reason for a record timestamp that Spark can't represent; readers return it as null. Event time is unaffected."""

EVENT_TIME = "_event_time"
REASON = "_reason"
"""Why the record is bad; null for a good one and for a tombstone."""
TOMBSTONE = "_tombstone"
RAW = "_raw"
"""The raw value of a bad record; null otherwise, so that persisting decoded records stores no second copy."""

BYTES = "_bytes"
"""Size of the record: key and value."""

_END = secrets.randbits(62)
_AROUND, _LAST = (f"_{secrets.token_hex(8)}" for _ in range(2))


@dataclass(frozen=True)
class JsonDecoder:
    """The decoder of a pipeline whose values are JSON."""

    spec: PipelineSpec
    fast: bool = True

    def __call__(self, records: DataFrame) -> DataFrame:
        return decode(records, self.spec, fast=self.fast)


def decode(raw: DataFrame, spec: PipelineSpec, *, fast: bool = True) -> DataFrame:
    """One row per record of a Kafka source: the schema's columns, the `_` columns, `_event_time`, and why it is bad.

    No input fails the job or becomes null silently: a value that is not one JSON object, or has a field of
    another type than declared, is bad as a whole. Fields that are absent or null are null. `fast` decodes simple values
    by a native function and changes no result.
    """
    session = raw.sparkSession
    zone = session.conf.get("spark.sql.session.timeZone") or "UTC"
    steps = _steps(session.sparkContext._gateway, spec.source.ddl, spec.event_time, zone, fast)
    decoded = reduce(lambda frame, columns: frame.select(*columns), steps, raw)
    key = spec.source.key
    return decoded if key is None else with_key(decoded, key, reason=REASON, tombstone=TOMBSTONE)


@lru_cache(maxsize=32)
def _steps(
    _gateway: object, ddl: str, declared: EventTime, zone: str, fast: bool
) -> tuple[tuple[Column | str, ...], ...]:
    """The columns of each step. Cached, since building them takes a thousand calls to the gateway's JVM."""
    schema = _columns(ddl)
    plain, unsure = F.col("_plain"), F.col("_plain").isNull()
    record = F.get(_elements(), F.lit(0))  # null if there is none; [0] would fail the job
    taken = (
        F.col("value").alias("_value"),
        *(F.col(name).alias(f"_{name}") for name in ("topic", "partition", "offset", "timestamp", "key", "headers")),
        (fast_json(F.col("value"), schema, zone) if fast else F.lit(None).cast(schema)).alias("_plain"),
    )
    typed = (
        F.when(unsure, converted(record[f.name], f.dataType)).otherwise(plain[f.name]).alias(f.name)
        for f in schema.fields
    )
    reason = (
        F.when(F.col("_value").isNull(), None)
        .when(F.col("_timestamp").isNull(), TIMESTAMP_OUT_OF_RANGE)
        .when(unsure & _broken(record, schema), NOT_OF_THE_SCHEMA)
        .when(F.col(EVENT_TIME).isNull(), NO_EVENT_TIME)
    )
    decoded: tuple[Column | str, ...] = (
        *schema.names,
        *("_topic", "_partition", "_offset", "_timestamp", "_key", "_headers", EVENT_TIME, REASON),
        F.col("_value").isNull().alias(TOMBSTONE),
        F.when(F.col(REASON).isNotNull(), F.col("_value")).alias(RAW),
        (F.coalesce(F.length("_key"), F.lit(0)) + F.coalesce(F.length("_value"), F.lit(0))).alias(BYTES),
    )
    return (
        taken,
        ("*", _parsed(F.when(unsure, F.col("_value")), schema, zone).alias("_parsed")),
        ("*", *typed),
        ("*", _event_time(schema, declared).alias(EVENT_TIME)),
        ("*", F.when(evaluated_once(), reason).alias(REASON)),
        decoded,
    )


def declared_columns(spec: PipelineSpec) -> StructType:
    """The fields of the value with their Spark types."""
    return _columns(spec.source.ddl)


def _columns(ddl: str) -> StructType:
    schema = StructType.fromDDL(ddl)
    if not isinstance(schema, StructType):
        raise TypeError(f"{ddl} is not a list of columns")
    return schema


def events_of(decoded: DataFrame) -> DataFrame:
    """The good records, as the transform sees them and with `_event_time`."""
    return decoded.where(F.col(REASON).isNull() & ~F.col(TOMBSTONE)).drop(REASON, TOMBSTONE, RAW, BYTES)


def bad_of(decoded: DataFrame) -> DataFrame:
    """The bad records: their coordinates, raw bytes and reason."""
    return decoded.where(F.col(REASON).isNotNull()).select(
        F.col("_topic").alias("topic"),
        F.col("_partition").alias("partition"),
        F.col("_offset").alias("offset"),
        F.col("_timestamp").alias("timestamp"),
        F.col("_key").alias("key"),
        F.col(RAW).alias("value"),
        F.col(REASON).alias("reason"),
    )


def _parsed(value: Column, schema: StructType, zone: str) -> Column:
    """The value wrapped in an array, followed by a random number; the array's name is random too.

    Spark's parser stops after the first value it has read: `{"a":1} and more` would pass as {"a":1}. In an array
    a second value is a syntax error or another element, and a value that closes the array drops the number. Of two
    fields with one name the last one wins, so the name must be unpredictable too.
    """
    wrapped = F.concat(F.lit(f'{{"{_AROUND}":['), value.cast("string"), F.lit(f',{{"{_LAST}":{_END}}}]}}'))
    fields = [StructField(field.name, as_read(field.dataType)) for field in schema.fields]
    elements = ArrayType(StructType([*fields, StructField(_LAST, LongType())]))
    whole = StructType([StructField(_AROUND, elements), StructField("bad", StringType())])
    return json_function("from_json", whole, zone, wrapped)


def _elements() -> Column:
    return F.col(f"_parsed.{_AROUND}")


def _event_time(schema: StructType, declared: EventTime) -> Column:
    if declared.field == "_timestamp":
        return F.col("_timestamp")
    field = next(field for field in schema.fields if field.name.lower() == declared.field.lower())
    return event_time(F.col(field.name), field.dataType, declared.format)


def evaluated_once() -> Column:
    """Always true, but not to Spark's optimiser, so a filter that depends on it stays above the decoding.

    Otherwise Spark would push the filter for good records below the decoding and parse each value again for every
    condition, at a third of the speed.
    """
    return F.spark_partition_id() >= 0  # allowed in a stream, unlike a row number


def _broken(record: Column, schema: StructType) -> Column:
    whole = (
        F.is_valid_utf8(F.col("_value").cast("string"))
        & F.col("_parsed.bad").isNull()
        & (F.size(_elements()) == 2)
        & (F.get(_elements(), F.lit(1))[_LAST] == F.lit(_END))
        & record.isNotNull()
    )
    flaws = (flawed(record[field.name], F.col(field.name), field.dataType) for field in schema.fields)
    return ~F.coalesce(whole, F.lit(False)) | reduce(
        lambda one, other: one | other, (flaw for flaw in flaws if flaw is not None), F.lit(False)
    )
