"""The current limit of a run's replay, as its process last recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Pace:
    at: datetime
    details: Mapping[str, Any]
    """`source`, `reason`, `bytes_per_second` and `paused` of the allowance; what the governor adds, by its name."""
