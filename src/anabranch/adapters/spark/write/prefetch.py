"""Works on slices before their turn, so that Spark has something to do while one is put together or committed.

What is made so is nobody's until its turn comes, and is thrown away if that never does.
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
    """Two steps, in the order in which slices were begun: one query at a time, and two slices being made.

    So there is a query when the slice before has been made. An error comes up when the slice is taken.
    """

    def __init__(self, query: Callable[[Slice], Q], make: Callable[[Slice, Q], T]) -> None:
        self._query, self._make = query, make
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="query")
        self._makers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="slice")
        self._begun: dict[str, Future[T]] = {}

    def begin(self, slice_: Slice) -> None:
        """Once for each slice: whoever asks again gets what was begun."""
        if slice_.id not in self._begun:
            query = self._queries.submit(self._query, slice_)
            self._begun[slice_.id] = self._makers.submit(lambda: self._make(slice_, query.result()))

    def await_made(self, slice_: Slice) -> None:
        """Return when what was begun for this slice is there, or has failed: `take` says of what."""
        self._begun[slice_.id].exception()

    def take(self, slice_: Slice) -> T:
        """What was begun for this slice, when it is there. It is given away once."""
        return self._begun.pop(slice_.id).result()

    def let_go(self, drop: Callable[[T], None]) -> None:
        """Drop what was begun and not taken. When this returns, nothing more is read for it.

        It is waited for: Iceberg leaves the files of tasks that are done behind when their job is stopped.
        """
        while self._begun:
            _, made = self._begun.popitem()
            if not made.cancel() and made.exception() is None:
                drop(made.result())
