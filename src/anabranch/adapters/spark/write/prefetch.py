"""Prefetches slices, so that Spark's cores are busy while one slice is planned or committed.

Prefetched files belong to no snapshot until their slice is committed, and are deleted if it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from anabranch.plan.slices import Slice

Q = TypeVar("Q")
T = TypeVar("T")


AT_ONCE = 2
"""Spark assigns cores to the first job first. The second one gets cores that the end of the first leaves idle."""


class Prefetch(Generic[Q, T]):
    """Two steps in the order of prefetching: one query is planned at a time, and two slices are written.

    So a query is planned while the slice before it is written. An error is raised when the slice is taken.
    """

    def __init__(self, query: Callable[[Slice], Q], make: Callable[[Slice, Q], T]) -> None:
        self._query, self._make = query, make
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="query")
        self._makers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slice")
        self._slices: dict[str, Future[T]] = {}

    def prefetch(self, slice_: Slice) -> None:
        """Start prefetching the slice. Idempotent until the slice is taken."""
        if slice_.id not in self._slices:
            query = self._queries.submit(self._query, slice_)
            self._slices[slice_.id] = self._makers.submit(lambda: self._make(slice_, query.result()))

    def await_done(self, slice_: Slice) -> None:
        """Wait until the prefetched slice is written or has failed; `take` raises the error."""
        self._slices[slice_.id].exception()

    def take(self, slice_: Slice) -> T:
        """Wait for the prefetched slice and return it. Raises KeyError if it was taken or never prefetched."""
        return self._slices.pop(slice_.id).result()

    def discard_prefetched(self, drop: Callable[[T], None]) -> None:
        """Discard every prefetched slice that was not taken. No read for them continues after this returns.

        Waits for running ones: Iceberg does not delete the files of finished tasks of a cancelled job.
        """
        while self._slices:
            _, made = self._slices.popitem()
            if not made.cancel() and made.exception() is None:
                drop(made.result())
