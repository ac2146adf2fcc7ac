"""Merges changes by key into a branch of a table, in one commit that carries its properties even if nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from anabranch.adapters.spark.keyed.changes import DELETED, LAST

_SETTING = "spark.sql.iceberg.snapshot-property."


def merge(
    changes: DataFrame,
    into: str,
    keys: Sequence[str],
    columns: Sequence[str],
    properties: Mapping[str, str],
    is_committed: Callable[[], bool],
) -> None:
    """Merge the last change of each key into a branch. `is_committed` looks the commit up in the table.

    No other writer may use the branch. A merge without changes may make no commit: then an empty commit records
    the offsets.
    """
    session = changes.sparkSession
    view = f"changes_{uuid4().hex}"
    changes.where(F.col(LAST)).createOrReplaceTempView(view)
    try:
        with _snapshot_properties(session, properties):
            session.sql(_statement(into, view, keys, columns))
    except (PySparkException, Py4JError):
        # The response may have been lost after the commit; the table shows whether it took effect.
        if not is_committed():
            raise
    finally:
        session.catalog.dropTempView(view)
    if not is_committed():
        options = {f"snapshot-property.{name}": value for name, value in properties.items()}
        changes.select(*(f"`{name}`" for name in columns)).limit(0).writeTo(into).options(**options).append()


def _statement(into: str, view: str, keys: Sequence[str], columns: Sequence[str]) -> str:
    same = " AND ".join(f"t.`{key}` <=> s.`{key}`" for key in keys)
    update = ", ".join(f"t.`{name}` = s.`{name}`" for name in columns)
    names, values = (", ".join(f"{prefix}`{name}`" for name in columns) for prefix in ("", "s."))
    return (
        f"MERGE INTO {into} t USING {view} s ON {same} "  # noqa: S608
        f"WHEN MATCHED AND s.{DELETED} THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {update} "
        f"WHEN NOT MATCHED AND NOT s.{DELETED} THEN INSERT ({names}) VALUES ({values})"
    )


@contextmanager
def _snapshot_properties(session: SparkSession, properties: Mapping[str, str]) -> Iterator[None]:
    """A merge reads its snapshot properties from the session: without the reset, later commits would have them too."""
    try:
        for name, value in properties.items():
            session.conf.set(f"{_SETTING}{name}", value)
        yield
    finally:
        for name in properties:
            session.conf.unset(f"{_SETTING}{name}")
