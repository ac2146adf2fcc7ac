"""Works on slices before their turn, so that Spark's cores are busy while one is planned or committed.

What is made for a slice belongs to no snapshot until the slice's turn comes, and is discarded if it never does.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from anabranch.plan.slices import Slice

Q = TypeVar("Q")
T = TypeVar("T")


AT_ONCE = 2
"""Spark gives cores to the job that came first. The second one gets those that the tail of the first leaves idle."""


class Prefetch(Generic[Q, T]):
    """Two steps, in the order in which slices are prefetched: one query is planned at a time, two slices are made.

    So the query is planned by the time the slice before is made. An error is raised when the slice is taken.
    """

    def __init__(self, query: Callable[[Slice], Q], make: Callable[[Slice, Q], T]) -> None:
        self._query, self._make = query, make
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="query")
        self._makers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slice")
        self._slices: dict[str, Future[T]] = {}

    def prefetch(self, slice_: Slice) -> None:
        """Start on the slice. Idempotent until the slice is taken."""
        if slice_.id not in self._slices:
            query = self._queries.submit(self._query, slice_)
            self._slices[slice_.id] = self._makers.submit(lambda: self._make(slice_, query.result()))

    def await_done(self, slice_: Slice) -> None:
        """Return when the prefetched slice is made or has failed; `take` raises the error."""
        self._slices[slice_.id].exception()

    def take(self, slice_: Slice) -> T:
        """Wait for the prefetched slice and hand it over; KeyError for one that was taken or never prefetched."""
        return self._slices.pop(slice_.id).result()

    def discard_prefetched(self, drop: Callable[[T], None]) -> None:
        """Drop every prefetched slice that was not taken. Nothing is read for them any more when this returns.

        Running ones are waited for: Iceberg leaves the files of finished tasks behind when their job is cancelled.
        """
        while self._slices:
            _, made = self._slices.popitem()
            if not made.cancel() and made.exception() is None:
                drop(made.result())
