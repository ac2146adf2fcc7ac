"""The events that a replay reads, by their own time: as the range itself, or wider where rows need others' events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Reading:
    """From one moment, included, to another, excluded."""

    start: datetime
    end: datetime
