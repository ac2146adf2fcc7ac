"""Searches the staged rows for known records from a JSON-lines file, compared by the columns' types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from anabranch.adapters.spark.validate.rows import forms, read_shown, shown
from anabranch.adapters.spark.validate.tables import find
from anabranch.validate.measures import SAMPLE, Difference, Row, Spots

MOST = 10_000
"""Maximum records in a file, which is for spot checks."""
_CORRUPT = "_corrupt"


@dataclass(frozen=True)
class _Known:
    line: int
    record: dict[str, object]


def measure_spots(spark: SparkSession, staged: DataFrame, folder: Path, file: str, keys: Sequence[str]) -> Spots:
    """A record has values of some or all columns; a staged row must have the same values."""
    known, problems = _read(folder / file, staged.columns)
    missing: list[_Known] = []
    for fields, group in _groups(known, staged.schema):
        found, wrong = _look(spark, staged, fields, group)
        problems += [f"line {each.line} does not fit the columns' types" for each in group if each.line in wrong]
        missing += [each for each in group if each.line not in found | wrong]
    missing.sort(key=lambda each: each.line)
    nearest = _nearest(spark, staged, missing[:SAMPLE], keys)
    return Spots(
        file,
        expected=len(known),
        problems=tuple(problems),
        missing=tuple(Difference(each.record, nearest.get(each.line)) for each in missing[:SAMPLE]),
        missed=len(missing),
    )


def _read(path: Path, columns: Sequence[str]) -> tuple[list[_Known], list[str]]:
    known: list[_Known] = []
    problems: list[str] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return [], [f"the file can't be read: {type(error).__name__}"]
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if len(known) == MOST:
            problems.append(f"line {number} and those after it: a file holds at most {MOST:,} records")
            break
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not record:
            problems.append(f"line {number} is not a JSON object with columns")
            continue
        unknown = [name for name in record if find(name, columns) is None]
        if unknown:
            problems.append(f"line {number} names columns the table does not have: {', '.join(unknown)}")
            continue
        known.append(_Known(number, record))
    return known, problems


def _groups(known: Sequence[_Known], schema: StructType) -> list[tuple[list[StructField], list[_Known]]]:
    """Records by their columns: each group is searched in one pass."""
    groups: dict[tuple[str, ...], list[_Known]] = {}
    for each in known:
        groups.setdefault(tuple(sorted(name.lower() for name in each.record)), []).append(each)
    return [([field for field in schema if field.name.lower() in names], members) for names, members in groups.items()]


def _look(
    spark: SparkSession, staged: DataFrame, fields: Sequence[StructField], known: Sequence[_Known]
) -> tuple[set[int], set[int]]:
    """The lines that were found, and the lines with values of other types than the columns."""
    records = _typed(spark, fields, known)
    wrong = {row["line"] for row in records.where(sf.col(_CORRUPT).isNotNull()).select("line").collect()}
    wanted = records.where(sf.col(_CORRUPT).isNull()).select("line", sf.struct(*forms(fields)).alias("values"))
    rows = staged.select(sf.struct(*forms(fields)).alias("values"))
    matches = rows.join(sf.broadcast(wanted), "values").select("line").distinct()
    return {row["line"] for row in matches.collect()}, wrong


def _typed(spark: SparkSession, fields: Sequence[StructField], known: Sequence[_Known]) -> DataFrame:
    names = {field.name.lower(): field.name for field in fields}
    lines = [
        (each.line, json.dumps({names[key.lower()]: value for key, value in each.record.items()})) for each in known
    ]
    loose = StructType([*(StructField(f.name, f.dataType) for f in fields), StructField(_CORRUPT, StringType())])
    parsed = sf.from_json("text", loose, {"columnNameOfCorruptRecord": _CORRUPT})
    return (
        spark.createDataFrame(lines, "line int, text string")
        .select("line", parsed.alias("record"))
        .select("line", "record.*")
    )


def _nearest(spark: SparkSession, staged: DataFrame, missing: Sequence[_Known], keys: Sequence[str]) -> dict[int, Row]:
    """For each missing record with all keys, the staged row with the same keys."""
    wanted = {key.lower() for key in keys}
    fields = [field for field in staged.schema if field.name.lower() in wanted]
    keyed = [
        _Known(each.line, {key: value for key, value in each.record.items() if key.lower() in wanted})
        for each in missing
        if wanted and wanted <= {name.lower() for name in each.record}
    ]
    if not keyed or len(fields) != len(wanted):
        return {}
    records = _typed(spark, fields, keyed).select("line", sf.struct(*forms(fields)).alias("key"))
    rows = staged.select(sf.struct(*forms(fields)).alias("key"), shown(staged.schema).alias("row"))
    matches = rows.join(sf.broadcast(records), "key").groupBy("line").agg(sf.min("row").alias("row")).collect()
    return {row["line"]: read_shown([row["row"]])[0] for row in matches}
