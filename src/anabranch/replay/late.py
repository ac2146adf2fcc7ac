"""Late events: those that live dropped because their window was written already, and that a replay includes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LISTED = 20
"""Maximum listed events per slice; all are counted."""


@dataclass(frozen=True)
class LateEvent:
    partition: int
    offset: int
    event_time: str
    watermark: str
    """Live's watermark when the event arrived."""

    def row(self) -> dict[str, Any]:
        return {
            "partition": self.partition,
            "offset": self.offset,
            "event time": self.event_time,
            "live's watermark": self.watermark,
        }


@dataclass(frozen=True)
class LateEvents:
    """The late events of one slice, or of several."""

    count: int = 0
    undecided: int = 0
    """Events whose live batch has expired from the table's history: whether live dropped them is unknown."""
    first: tuple[LateEvent, ...] = ()

    def __add__(self, other: LateEvents) -> LateEvents:
        return LateEvents(
            self.count + other.count, self.undecided + other.undecided, (*self.first, *other.first)[:LISTED]
        )

    def document(self) -> dict[str, Any]:
        first = [[each.partition, each.offset, each.event_time, each.watermark] for each in self.first]
        return {"events": self.count, "undecided": self.undecided, "first": first}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> LateEvents:
        """The reverse of `document`."""
        return cls(document["events"], document["undecided"], tuple(LateEvent(*each) for each in document["first"]))


NONE_LATE = LateEvents()
