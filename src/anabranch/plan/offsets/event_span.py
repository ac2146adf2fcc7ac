"""A span of event time that a replay reads: wider than the range where rows need events from beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class EventSpan:
    """From one moment, included, to another, excluded."""

    start: datetime
    end: datetime
