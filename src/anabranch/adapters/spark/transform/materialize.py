"""Computes rows once and cuts their lineage, so that every later read returns the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame


@contextmanager
def materialized(frame: DataFrame) -> Iterator[DataFrame]:
    """A merge reads its source more than once, and Spark refuses a source whose plan is not deterministic.

    Freed at the end of the block: otherwise live would depend on the JVM's collector to free each batch.
    """
    fixed = frame.localCheckpoint(eager=True)
    try:
        yield fixed
    finally:
        fixed._jdf.queryExecution().logical().rdd().unpersist(False)
