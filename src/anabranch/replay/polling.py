"""Calls something again and again while a block of code runs, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def polled(look: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call `look` every `seconds` until the block ends. When this returns, no call is going on.

    A call that fails is tried again: what it looks at may be unreachable for a while. Where that matters, the block
    itself fails.
    """
    ended = Event()

    def again() -> None:
        while not ended.wait(seconds):
            try:
                look()
            except Exception:  # noqa: S112
                continue

    thread = Thread(target=again, daemon=True, name="polled")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
