"""Samples live's position and its log's end twice a second while something else runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

from anabranch.errors import AnabranchError
from anabranch.readiness.live_samples import LiveSample
from anabranch.readiness.ports import LivePositions

EVERY_SECONDS = 0.5


class LiveWatch:
    """Reads only: live is neither stopped nor slowed. `replaying` marks samples taken while a replay reads."""

    def __init__(self, positions: LivePositions) -> None:
        self._positions = positions
        self._sampling = Lock()
        self._replaying = False
        self._failed: AnabranchError | None = None
        self.samples: list[LiveSample] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """One sample at the beginning, one at the end. Raises at the end what a sample in between failed with."""
        stop = Event()
        watcher = Thread(target=self._watch, args=(stop,), daemon=True, name="live-watch")
        self._sample()
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()
        if self._failed is not None:
            raise self._failed
        self._sample()

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Takes a sample at its end: a short replay may be over before the next one is due."""
        self._replaying = True
        try:
            yield
            self._sample()
        finally:
            self._replaying = False

    def _watch(self, stop: Event) -> None:
        while not stop.wait(EVERY_SECONDS):
            try:
                self._sample()
            except AnabranchError as error:
                self._failed = error  # raised when watching ends: an unknown lag must not count as a good one
                return

    def _sample(self) -> None:
        with self._sampling:  # two samples at once could be appended out of order
            replaying, ends = self._replaying, self._positions.log_ends()
            position = self._positions.of_group() or self._positions.of_table() or None
            self.samples.append(LiveSample(time.monotonic(), dict(ends), position, replaying))
