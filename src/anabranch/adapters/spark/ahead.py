"""Puts the query of the next slice together while Spark is busy with this one.

It takes hundreds of calls to the JVM, a third of a second in which no record would be read.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from pyspark.sql import SparkSession

from anabranch.plan.slices import Slice

T = TypeVar("T")


class Ahead(Generic[T]):
    """At most one slice ahead. An error comes up when the slice is taken."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="next-slice")
        self._begun: tuple[Slice, Future[T]] | None = None

    def start(self, piece: Slice, make: Callable[[Slice], T]) -> None:
        self._begun = (piece, self._worker.submit(make, piece))

    def take(self, piece: Slice, make: Callable[[Slice], T]) -> T:
        """What was begun for this slice, or else made now."""
        begun, self._begun = self._begun, None
        return begun[1].result() if begun is not None and begun[0] == piece else make(piece)


def activate(spark: SparkSession) -> None:
    """Make the session known to this thread: without it PySpark does not note which line of a transform calls it."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
