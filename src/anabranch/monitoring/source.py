"""Reads one source of metrics at most once in some seconds, in a thread of its own, so that a scrape never hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

from anabranch.errors import AnabranchError, text_of

T = TypeVar("T")
Value = TypeVar("Value", covariant=True)


@dataclass(frozen=True)
class ReadResult(Generic[Value]):
    """What a read came to: a value, or why there is none."""

    value: Value | None
    error: str | None = None


class CachedSource(Generic[T]):
    """A value, or an error, is served again until it is `seconds` old. There is never more than one read under way.

    Only one scrape waits for a source that hangs: later ones report that it does not answer, until it does.
    """

    def __init__(self, read: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._seconds = seconds
        self._clock = clock
        self._lock = Lock()
        self._pending: Event | None = None
        self._last: ReadResult[T] | None = None
        self._read_at: float | None = None

    def request(self) -> None:
        """Begin to read unless a read is under way or the last one is recent. Returns at once."""
        with self._lock:
            recent = self._read_at is not None and self._clock() - self._read_at < self._seconds
            if self._pending is None and not recent:
                self._pending = Event()
                Thread(target=self._run, args=(self._pending,), daemon=True, name="metrics-source").start()

    def await_outcome(self, seconds: float) -> ReadResult[T]:
        """The outcome of the read under way, unless that takes longer than `seconds`, or the read before failed."""
        with self._lock:
            pending, last = self._pending, self._last
        if last is not None and (pending is None or last.error is not None):
            return last
        if pending is not None and not pending.wait(max(0.0, seconds)):
            with self._lock:
                if self._pending is pending:
                    self._last = ReadResult(None, "it does not answer")
        with self._lock:
            return self._last or ReadResult(None, "it was not read")

    def _run(self, pending: Event) -> None:
        outcome = self._outcome()
        with self._lock:
            self._last, self._read_at, self._pending = outcome, self._clock(), None
        pending.set()

    def _outcome(self) -> ReadResult[T]:
        try:
            return ReadResult(self._read())
        except AnabranchError as error:
            return ReadResult(None, error.what)
        except Exception as error:
            # Whatever a client raises: the other sources are served, and this one's `up` is 0.
            return ReadResult(None, f"{type(error).__name__}: {text_of(error)}")
