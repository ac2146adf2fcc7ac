"""Batch interval and size of live, and its Kafka client id."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LivePace:
    interval_seconds: float = 1.0
    max_offsets: int = 200_000
    """The maximum number of offsets in a batch. A batch is held in memory, and repeated if the driver dies in it."""


def client_id(pipeline: str) -> str:
    """Client id of live, for broker quotas and logs."""
    return f"anabranch-live-{pipeline}"
