"""Runs the user's SQL checks: one read-only query each."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.spark.validate.rows import sample
from anabranch.adapters.spark.validate.tables import reason
from anabranch.contract.backfill import ValidationQuery
from anabranch.validate.measures import SAMPLE, QueryRun

ONLY_ONE_QUERY = "only a single SELECT (or WITH … SELECT) is accepted: a check reads and never writes"


def run_queries(
    session: SparkSession, views: Mapping[str, DataFrame], queries: Mapping[str, ValidationQuery], folder: Path
) -> tuple[QueryRun, ...]:
    """Runs the queries over the views, in the order of their names. The session must not be used for anything else."""
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    return tuple(_run(session, name, queries[name], folder) for name in sorted(queries))


def _run(session: SparkSession, name: str, query: ValidationQuery, folder: Path) -> QueryRun:
    try:
        sql = query.sql if query.sql is not None else (folder / str(query.file)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as unreadable:
        return QueryRun(name, "", f"the file {query.file} can't be read: {type(unreadable).__name__}")
    text = sql.strip().rstrip(";").rstrip()
    # As a subquery it can't be a statement: the grammar allows only a query in brackets.
    bracketed = f"SELECT * FROM (\n{text}\n)"  # noqa: S608
    with _quiet():
        error = _parse_error(session, text)
        if error is None and _parse_error(session, bracketed) is not None:
            error = ONLY_ONE_QUERY
        if error is not None:
            return QueryRun(name, sql, error)
        try:
            rows = sample(session.sql(bracketed), SAMPLE + 1)
        except (PySparkException, Py4JError) as failure:
            return QueryRun(name, sql, reason(failure))
    return QueryRun(name, sql, sample=rows[:SAMPLE], more=len(rows) > SAMPLE)


def _parse_error(session: SparkSession, text: str) -> str | None:
    try:
        session._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except (PySparkException, Py4JError) as error:
        return reason(error)
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """PySpark logs every refused query with the JVM's stack; the check's result has the reason."""
    logger = logging.getLogger("SQLQueryContextLogger")
    former, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = former
