"""A source of limits that is asked in a thread of its own, and that holds the replay while it does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from types import TracebackType

from anabranch.errors import AnabranchError, text_of
from anabranch.replay.allowance import Allowance


class PolledSource:
    """A RateSource. Fail closed: without a fresh answer no slice begins."""

    def __init__(
        self,
        name: str,
        ask: Callable[[], Allowance],
        *,
        every: float,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ask` may block and may raise; an answer counts for `patience` seconds."""
        self._name, self._ask, self._every, self._patience, self._clock = name, ask, every, patience, clock
        self._lock, self._stop = Lock(), Event()
        self._answer: Allowance | None = None
        self._answered = clock()
        self._error = "not asked yet"
        self._thread = Thread(target=self._ask_on, daemon=True, name=name)

    def __enter__(self) -> PolledSource:
        self.ask()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(timeout=self._patience)

    def allowance(self) -> Allowance:
        with self._lock:
            silent = self._clock() - self._answered
            if self._answer is not None and silent <= self._patience:
                return self._answer
            return Allowance(self._name, f"no answer for {silent:.0f} s: {self._error}", paused=True)

    def ask(self) -> None:
        """One question. An error is kept as the reason; the answer before it counts until its time is over."""
        begun = self._clock()
        try:
            answer = self._ask()
        except Exception as error:  # a thread that ended would hold the replay for good
            what = error.what if isinstance(error, AnabranchError) else f"{type(error).__name__}: {text_of(error)}"
            with self._lock:
                self._error = what
            return
        with self._lock:
            self._answer, self._answered, self._error = answer, begun, "the answer is late"

    def _ask_on(self) -> None:
        while not self._stop.wait(self._every):
            self.ask()
