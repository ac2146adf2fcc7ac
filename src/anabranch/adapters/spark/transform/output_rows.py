"""Checks a transform's rows against the target's columns. Casts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from anabranch.contract.pipeline import PipelineSpec
from anabranch.errors import AnabranchError, ExitCode

COORDINATES = {"_partition": "int", "_offset": "bigint"}
"""Columns that every row must have: without them an event has no fate in the ledger."""

WINDOW = {"_window": "struct<start:timestamp,end:timestamp>"}
"""The column that every row of a windowed pipeline must have instead: many events make up one row."""

WINDOW_START = "window_start"
"""Name of the column that partitions a new target of a windowed pipeline, if it has several timestamps."""


def origin_of(spec: PipelineSpec) -> Mapping[str, str]:
    return COORDINATES if spec.window is None else WINDOW


class OutputError(AnabranchError):
    """The transform's rows do not fit the target."""

    code = "transform.output"
    exit_code = ExitCode.REFUSED


def require_origin(rows: DataFrame, origin: Mapping[str, str] = COORDINATES) -> None:
    """Raise OutputError for rows without the coordinates of their record, or without their window."""
    for name, kind in origin.items():
        actual = _named(rows.schema, name)
        if actual is None:
            raise _refused(
                f"The transform's output has no column {name}, which the ledger needs to account for every event.",
                'keep `_partition` and `_offset` in every step: .select("_partition", "_offset", …)'
                if origin is COORDINATES
                else "group by `run.window`, which is named _window, and keep it in the output",
            )
        if actual.simpleString() != kind:
            raise _refused(
                f"Column {name} of the transform's output is {actual.simpleString()} instead of {kind}.",
                f"return {name} unchanged",
            )


def own_columns(rows: DataFrame) -> StructType:
    """The output's columns without the coordinates of records."""
    return StructType([field for field in rows.schema.fields if not field.name.startswith("_")])


def align(
    rows: DataFrame, target: StructType, *, keep: Sequence[str] = (), origin: Mapping[str, str] = COORDINATES
) -> DataFrame:
    """The rows with exactly the target's columns in its order, followed by the `_` columns named in `keep`.

    Columns that begin with `_` and are not the target's are dropped. Any other difference is an error, since a
    missing column would become null, and a cast could silently change values.
    """
    require_origin(rows, origin)
    return fit(rows, target, keep=keep)


def fit(rows: DataFrame, target: StructType, *, keep: Sequence[str] = ()) -> DataFrame:
    """`align` for rows without coordinates of records."""
    _refuse_doubles(rows)
    given = {field.name.lower(): field for field in rows.schema.fields}
    wanted = {field.name.lower() for field in target.fields}
    missing = [field.name for field in target.fields if field.name.lower() not in given]
    extra = [field.name for field in rows.schema.fields if field.name.lower() not in wanted]
    extra = [name for name in extra if not name.startswith("_")]
    other = [
        f"{field.name} is {given[field.name.lower()].dataType.simpleString()}, the target has "
        f"{field.dataType.simpleString()}"
        for field in target.fields
        if field.name.lower() in given
        and given[field.name.lower()].dataType.simpleString() != field.dataType.simpleString()
    ]
    problems = [
        *([f"missing: {', '.join(missing)}"] if missing else []),
        *([f"not in the target: {', '.join(extra)}"] if extra else []),
        *other,
    ]
    if problems:
        raise _refused(
            f"The transform's output does not fit the target: {'; '.join(problems)}.",
            "cast the columns in the transform, or alter the table",
        )
    columns = [F.col(f"`{given[field.name.lower()].name}`").alias(field.name) for field in target.fields]
    return rows.select(*columns, *(F.col(name) for name in keep if name.lower() not in wanted))


def require_keys(columns: StructType, keys: Sequence[str]) -> None:
    """Raise OutputError for a table that lacks a key column."""
    known = {field.name.lower() for field in columns.fields}
    missing = [key for key in keys if key.lower() not in known]
    if missing:
        raise _refused(
            f"target.keys names {', '.join(missing)}, which is not a column of the target.",
            f"name columns of the table under target.keys: {', '.join(columns.names)}",
        )


def time_column(columns: StructType, event_time_field: str) -> str:
    """The column that partitions a new target: the only timestamp, or the one with the event time's name."""
    moments = [f.name for f in columns.fields if isinstance(f.dataType, TimestampType | TimestampNTZType)]
    named = [name for name in moments if name.lower() == event_time_field.lower()]
    chosen = moments if len(moments) == 1 else named
    if chosen:
        return chosen[0]
    columns_found = f"several timestamp columns ({', '.join(moments)})" if moments else "no timestamp column"
    raise _refused(
        f"The target table does not exist yet, and the transform's output has {columns_found}: no column to partition "
        "it by.",
        f"name one of them {event_time_field}, or create the table yourself, partitioned by time",
    )


def _refuse_doubles(rows: DataFrame) -> None:
    names = [name.lower() for name in rows.columns]
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise _refused(
            f"The transform's output has more than one column {', '.join(doubles)}.",
            "give each column its own name with `alias`",
        )


def _named(schema: StructType, name: str) -> DataType | None:
    return next((field.dataType for field in schema.fields if field.name.lower() == name), None)


def _refused(what: str, hint: str) -> OutputError:
    return OutputError(what, state="No row was written.", hint=hint)
