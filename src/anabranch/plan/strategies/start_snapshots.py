"""States of the target that a replay may start from: which of them is the last good one before the damage. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from anabranch.runs.heads import Head


@dataclass(frozen=True)
class TableSnapshot:
    """A snapshot of the target as live left it, with every event before its position in it and none after."""

    snapshot: Head
    tag: str | None
    """What keeps it from expiry; None: nothing does but the table's own settings."""
    topic: str
    """UUID of the topic that the position is of."""
    position: Mapping[int, int]
    """The first offset of each partition that is not in it. A partition that is not named was never read."""
    event_time: str | None
    """The newest event in it."""
    at: datetime

    def precedes(self, offsets: Mapping[int, int]) -> bool:
        """Whether nothing at or after these offsets is in it."""
        return precedes(self.position, offsets)


@dataclass(frozen=True)
class StartSnapshot:
    """Where a replay starts from: a state of the table, or an empty one (no snapshot)."""

    snapshot: Head | None
    position: Mapping[int, int]


class StartPoint(Protocol):
    """Anything that a replay may start from."""

    @property
    def topic(self) -> str: ...

    def precedes(self, offsets: Mapping[int, int]) -> bool: ...


AnyStartPoint = TypeVar("AnyStartPoint", bound=StartPoint)


def precedes(position: Mapping[int, int], offsets: Mapping[int, int]) -> bool:
    """Whether what ends at this position holds nothing at or after these offsets."""
    return all(end <= offsets.get(partition, 0) for partition, end in position.items())


def last_good(states: Iterable[AnyStartPoint], topic: str, damage: Mapping[int, int]) -> AnyStartPoint | None:
    """The newest of these states, given newest first, that holds nothing of the damage."""
    return next((each for each in states if each.topic == topic and each.precedes(damage)), None)
