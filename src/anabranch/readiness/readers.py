"""Who else reads the topic and the table of a pipeline, as far as a cluster and a catalog record it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.contract.consumer_groups import ConsumerGroup
from anabranch.contract.pipeline import PipelineSpec
from anabranch.plan.slices import Offsets

OURS = "ab_"
"""The prefix of the branches and tags that Anabranch makes."""


@dataclass(frozen=True)
class TopicReader:
    """A consumer group that has committed offsets of the topic."""

    group: str
    members: int
    lag: int
    """Offsets between its committed offsets and the end."""
    live: bool
    """Whether it is the pipeline's own."""


@dataclass(frozen=True)
class Readers:
    topic: str
    groups: tuple[TopicReader, ...]
    """A reader that commits no offsets is in no group, and can't be known."""
    table: str
    refs: tuple[str, ...]
    """Branches and tags of the table that are neither main nor made by Anabranch."""

    @property
    def others(self) -> tuple[TopicReader, ...]:
        return tuple(group for group in self.groups if not group.live)

    def of_the_topic(self) -> str:
        if not self.others:
            return f"no other consumer group has committed offsets of {self.topic}"
        named = ", ".join(f"{each.group} ({each.lag:,} behind)" for each in self.others)
        return f"also reading {self.topic}: {named}"

    def of_the_table(self) -> str:
        refs = f"; branches and tags of others: {', '.join(self.refs)}" if self.refs else ""
        return f"the readers of {self.table} are unknown, since a catalog does not record them{refs}"

    def document(self) -> dict[str, Any]:
        return {
            "topic": {
                "name": self.topic,
                "groups": [{"group": g.group, "members": g.members, "lag": g.lag, "live": g.live} for g in self.groups],
            },
            "table": {"name": self.table, "known": False, "refs": list(self.refs)},
        }


def readers_of(spec: PipelineSpec, groups: Mapping[str, ConsumerGroup], ends: Offsets, refs: Iterable[str]) -> Readers:
    """Live's own group first, then by name. `refs` are the table's branches and tags besides main."""
    found = [_reader(name, group, spec.source.topic, ends, spec.consumer_group) for name, group in groups.items()]
    ordered = sorted((each for each in found if each is not None), key=lambda each: (not each.live, each.group))
    others = sorted(name for name in refs if not name.startswith(OURS))
    return Readers(spec.source.topic, tuple(ordered), spec.target.table, tuple(others))


def _reader(name: str, group: ConsumerGroup, topic: str, ends: Offsets, live_group: str) -> TopicReader | None:
    """None: it has committed no offset of this topic."""
    position = {p: group.offsets[f"{topic}/{p}"] for p in ends if group.offsets.get(f"{topic}/{p}", -1) >= 0}
    if not position:
        return None
    behind = sum(max(0, ends[p][1] - offset) for p, offset in position.items())
    return TopicReader(name, group.members, behind, name == live_group)
