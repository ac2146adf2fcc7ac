"""Keeps the zone map up while live goes on: what a batch counted anyway is gathered, and written down now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from anabranch.plan.offsets.zones import Zone, combine

FLUSH_SECONDS = 60.0
FLUSH_OFFSETS = 2_000_000
"""A plan reads whole what no zone counts yet, so what waits is kept to little."""
MOST_WAITING = 50_000
"""Zones. When the table has not taken any for so long, the oldest go: a build fills the hole."""


@dataclass
class ZoneKeeper:
    """A failure here is told and loses no row: zones that could not be written wait for the next time."""

    write: Callable[[Sequence[Zone]], object]
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _waiting: tuple[Zone, ...] = ()
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock()

    def keep(self, zones: Sequence[Zone]) -> None:
        """Called at the end of a batch that is in the table."""
        self._waiting = combine((*self._waiting, *zones))[-MOST_WAITING:]
        waiting = sum(zone.end - zone.start for zone in self._waiting)
        if waiting >= FLUSH_OFFSETS or self.clock() - self._since >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits. Zones are facts: those that were written though the answer was lost may come twice."""
        self._since = self.clock()
        if not self._waiting:
            return
        try:
            self.write(self._waiting)
        except Exception as error:
            self.say(f"{len(self._waiting)} zones wait to be written to the zone map: {type(error).__name__}: {error}")
        else:
            self._waiting = ()
