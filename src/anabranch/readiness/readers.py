"""Who else reads the topic and the table of a pipeline, as far as it can be known. Frozen values; wiring fills them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TopicReader:
    """A consumer group that has committed offsets of the topic."""

    group: str
    members: int
    lag: int
    """Offsets between where it stands and the end."""
    live: bool
    """Whether it is the pipeline's own."""


@dataclass(frozen=True)
class Readers:
    topic: str
    groups: tuple[TopicReader, ...]
    """A reader that commits no offsets is in no group, and nobody can know of it."""
    table: str
    refs: tuple[str, ...]
    """Branches and tags of the table that are neither main nor ours: somebody made them to read by."""

    @property
    def others(self) -> tuple[TopicReader, ...]:
        return tuple(group for group in self.groups if not group.live)

    def of_the_topic(self) -> str:
        if not self.others:
            return f"no other consumer group has committed offsets of {self.topic}"
        named = ", ".join(f"{each.group} ({each.lag:,} behind)" for each in self.others)
        return f"also reading {self.topic}: {named}"

    def of_the_table(self) -> str:
        refs = f"; refs that others have made on it: {', '.join(self.refs)}" if self.refs else ""
        return f"who reads {self.table} is not known, since a catalog keeps no record of it{refs}"

    def document(self) -> dict[str, Any]:
        return {
            "topic": {
                "name": self.topic,
                "groups": [{"group": g.group, "members": g.members, "lag": g.lag, "live": g.live} for g in self.groups],
            },
            "table": {"name": self.table, "known": False, "refs": list(self.refs)},
        }
