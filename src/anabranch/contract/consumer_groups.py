"""Consumer groups: a group's state as read from the cluster, and the name prefix that marks a replay's own clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REPLAY_PREFIX = "anabranch-replay"
"""Prefix of every client id and group id that a replay uses. A pipeline's group must not start with it."""


@dataclass(frozen=True)
class ConsumerGroup:
    """A consumer group at one moment: its number of members and its committed offsets."""

    members: int
    offsets: Mapping[str, int]
    """By `topic/partition`."""
