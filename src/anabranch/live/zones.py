"""Maintains the zone map while live runs: collects the zones of batches and writes them at intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from anabranch.plan.offsets.zones import Zone, combine

FLUSH_SECONDS = 60.0
FLUSH_OFFSETS = 2_000_000
"""Plans read offsets without zones completely, so few may be pending."""
MAX_PENDING = 50_000
"""Maximum number of pending zones. Beyond it the oldest are dropped; `zones build` adds them again."""


@dataclass
class ZoneKeeper:
    """A failed write is logged and retried with the next one. It affects no row."""

    write: Callable[[Sequence[Zone]], object]
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _pending: tuple[Zone, ...] = ()
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._since = self.clock()

    def keep(self, zones: Sequence[Zone]) -> None:
        """Call after a batch is committed."""
        self._pending = combine((*self._pending, *zones))[-MAX_PENDING:]
        pending_offsets = sum(zone.end - zone.start for zone in self._pending)
        if pending_offsets >= FLUSH_OFFSETS or self.clock() - self._since >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write pending zones. After an unknown outcome they may be written twice, which is harmless."""
        self._since = self.clock()
        if not self._pending:
            return
        try:
            self.write(self._pending)
        except Exception as error:
            self.say(
                f"{len(self._pending)} zones not written to the zone map, will retry: {type(error).__name__}: {error}"
            )
        else:
            self._pending = ()
