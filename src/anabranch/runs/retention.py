"""When retention deletes what a run still needs, as its process last noted it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class RetentionNote:
    at: datetime
    details: Mapping[str, Any]
    """A `RaceDecision.document`: `answer`, `headroom_seconds` and, for each partition, `expires_at`, `seconds_to_loss`,
    `seconds_needed` and `headroom_seconds` as of `at`. `reading`: whether the run still reads the topic."""
