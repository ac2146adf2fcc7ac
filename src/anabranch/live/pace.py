"""How fast live goes, and under which name Kafka knows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LivePace:
    interval_seconds: float = 1.0
    max_offsets: int = 200_000
    """The most offsets in one batch. A batch is kept in memory, and is done again when the driver dies in it."""


def client_id(pipeline: str) -> str:
    """Quotas and the broker's logs go by it."""
    return f"anabranch-live-{pipeline}"
