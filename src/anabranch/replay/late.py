"""Late events: those that live dropped because their window was written already, and that a replay takes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LISTED = 20
"""So many of a slice are listed; all are counted."""


@dataclass(frozen=True)
class LateEvent:
    partition: int
    offset: int
    event_time: str
    watermark: str
    """How far live was when the event came."""

    def row(self) -> dict[str, Any]:
        return {
            "partition": self.partition,
            "offset": self.offset,
            "event time": self.event_time,
            "live's watermark": self.watermark,
        }


@dataclass(frozen=True)
class LateEvents:
    """Of one slice, or of several together."""

    count: int = 0
    untold: int = 0
    """Events whose live batch has left the table's history: nobody can say whether live dropped them."""
    first: tuple[LateEvent, ...] = ()

    def __add__(self, other: LateEvents) -> LateEvents:
        return LateEvents(self.count + other.count, self.untold + other.untold, (*self.first, *other.first)[:LISTED])

    def document(self) -> dict[str, Any]:
        first = [[each.partition, each.offset, each.event_time, each.watermark] for each in self.first]
        return {"events": self.count, "untold": self.untold, "first": first}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> LateEvents:
        """The reverse of `document`."""
        return cls(document["events"], document["untold"], tuple(LateEvent(*each) for each in document["first"]))


NONE_LATE = LateEvents()
