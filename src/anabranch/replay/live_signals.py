"""How live is doing while a replay runs, as observed from outside: by its group, its table's commits and its topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class LiveSignals:
    """One observation. A signal that could not be read is None, never 0: what is unknown must not count as good."""

    at: float
    """Seconds of a clock that only grows."""
    lag_records: int | None = None
    """Offsets between live's position and the end of the log, over all partitions."""
    lag_seconds: float | None = None
    """How long ago the oldest record arrived that live has not written; 0.0: live has written everything."""
    latencies: tuple[float, ...] | None = None
    """Seconds from arrival to commit, one for each growth of a partition whose commit was seen since the observation
    before. Empty: nothing was committed in between."""
    batch_ratio: float | None = None
    """Duration of live's last batch over its interval; None also where live is not ours."""
    errors: int | None = None
    """Errors of live since the observation before; None also where live is not ours."""
    brokers: Mapping[str, float] = field(default_factory=dict)
    """Value over target of each broker metric that the project configures by PromQL; absent: not read."""
    silent: Mapping[str, str] = field(default_factory=dict)
    """Signals that should have been read and were not, with the reason."""
    live_runs: bool = True
    """False: nothing shows that live runs, so that there is nothing to protect at this moment."""
    live_words: str = ""
    """What shows that live runs, or what was looked for in vain."""


class LiveMonitor(Protocol):
    """Observes one pipeline's live. Reads only; commits to no group."""

    def read(self) -> LiveSignals:
        """The newest observation. Called about once a second, from any thread; returns at once. Raises nothing: what
        fails is in `silent`."""
