"""Rows computed once, with no memory of how: whatever reads them afterwards reads the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame


@contextmanager
def materialized(frame: DataFrame) -> Iterator[DataFrame]:
    """A merge reads its source more than once, and Spark refuses one whose plan might give other rows each time.

    Freed at the end: a query that runs for months would otherwise leave it to the JVM's collector, batch by batch.
    """
    fixed = frame.localCheckpoint(eager=True)
    try:
        yield fixed
    finally:
        fixed._jdf.queryExecution().logical().rdd().unpersist(False)
