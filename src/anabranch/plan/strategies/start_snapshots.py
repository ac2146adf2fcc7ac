"""Snapshots of the target that a replay may start from, and the last one before the damage. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from anabranch.runs.heads import Head


@dataclass(frozen=True)
class TableSnapshot:
    """A snapshot by live that contains every event before its position and none after."""

    snapshot: Head
    tag: str | None
    """The tag that protects it from expiry; None: only the table's settings do."""
    topic: str
    """UUID of the topic that the position is of."""
    position: Mapping[int, int]
    """The first offset of each partition that it does not contain. A missing partition was never read."""
    event_time: str | None
    """The newest event in it."""
    at: datetime

    def precedes(self, offsets: Mapping[int, int]) -> bool:
        """Whether it contains nothing at or after these offsets."""
        return precedes(self.position, offsets)


@dataclass(frozen=True)
class StartSnapshot:
    """The start of a replay: a snapshot of the table, or an empty table (no snapshot)."""

    snapshot: Head | None
    position: Mapping[int, int]


class StartPoint(Protocol):
    """A snapshot or checkpoint that a replay may start from."""

    @property
    def topic(self) -> str: ...

    def precedes(self, offsets: Mapping[int, int]) -> bool: ...


AnyStartPoint = TypeVar("AnyStartPoint", bound=StartPoint)


def precedes(position: Mapping[int, int], offsets: Mapping[int, int]) -> bool:
    """Whether the position is at or before these offsets in every partition."""
    return all(end <= offsets.get(partition, 0) for partition, end in position.items())


def last_good(states: Iterable[AnyStartPoint], topic: str, damage: Mapping[int, int]) -> AnyStartPoint | None:
    """The newest of these states (given newest first) that contains nothing of the damage."""
    return next((each for each in states if each.topic == topic and each.precedes(damage)), None)
