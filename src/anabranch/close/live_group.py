"""Decides whether live moved its own consumer group, from the offsets that live's commits record. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from anabranch.plan.slices import Offsets

Positions = Mapping[int, int]
"""The next offset of each partition."""


class Origin(str, Enum):
    """Whether live committed a given position of its group."""

    RECORDED = "recorded"
    """A commit of live records it."""
    NOT_RECORDED = "not recorded"
    """No commit of live records it, and the table's history reaches back far enough to tell."""
    UNKNOWN = "unknown"
    """The table has no commits of live to compare with: another program writes it, or the snapshots have expired."""


@dataclass(frozen=True)
class LiveGroup:
    """Live's consumer group on the source topic. Live commits to the table, then the same offsets to its group."""

    topic: str
    recorded: Sequence[Offsets] = ()
    """The offsets of each commit of live, newest first. Read the group before the commits, so that none is missing."""

    def committed(self, offsets: Mapping[str, int]) -> dict[int, int]:
        """The group's offsets of the topic, from those by `topic/partition`."""
        places = {name.rpartition("/"): offset for name, offset in offsets.items()}
        return {int(partition): offset for (topic, _, partition), offset in places.items() if topic == self.topic}

    @property
    def newest(self) -> Positions:
        """Where live's last commit ends."""
        return _ends(self.recorded[0]) if self.recorded else {}

    def origin(self, before: Positions, after: Positions) -> Origin:
        """The origin of position `after`, given that the group was at `before` earlier.

        Live only moves forward. Its group is behind its last table commit if live stopped between the two commits, or
        if the broker refused the commit to the group.
        """
        if not self.recorded or not after:
            return Origin.UNKNOWN
        if dict(after) == dict(self.newest):
            return Origin.RECORDED
        if any(after.get(partition, 0) < offset for partition, offset in before.items()):
            return Origin.NOT_RECORDED
        if any(dict(after) in (_starts(each), _ends(each)) for each in self.recorded):
            return Origin.RECORDED
        oldest = _starts(self.recorded[-1])
        expired = any(offset < oldest.get(partition, 0) for partition, offset in after.items())
        return Origin.UNKNOWN if expired else Origin.NOT_RECORDED


def _starts(offsets: Offsets) -> dict[int, int]:
    return {partition: start for partition, (start, _) in offsets.items()}


def _ends(offsets: Offsets) -> dict[int, int]:
    return {partition: end for partition, (_, end) in offsets.items()}
