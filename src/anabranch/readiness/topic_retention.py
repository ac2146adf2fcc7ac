"""Which records a topic has today, how fast it grows, and how long its settings retain a record. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from anabranch.plan.target_range import EPOCH

LEAST_WATCHED = timedelta(hours=1)
"""The growth of a topic that was created a minute ago does not predict its growth."""


@dataclass(frozen=True)
class KeptPartition:
    earliest: int
    latest: int
    first: int | None
    """The timestamp (ms) of the first record; None: the partition is empty."""
    recent: int
    """Offsets that were added in the watched time."""
    size: int | None
    """Bytes on disk of one replica; None: the cluster did not report them."""

    @property
    def offsets(self) -> int:
        return self.latest - self.earliest


@dataclass(frozen=True)
class Keeping:
    """The topic's settings that decide how long a record stays."""

    cleanup: frozenset[str]
    retention_ms: int | None
    """None: no limit by time."""
    retention_bytes: int | None
    """Of one partition. None: no limit by size."""
    compaction_lag_ms: int
    """How long a record is safe from compaction."""
    remote: bool
    """Whether older segments are tiered: sizes on disk are then not the whole."""


@dataclass(frozen=True)
class KeptTopic:
    name: str
    uuid: str
    replicas: int
    partitions: Mapping[int, KeptPartition] | None
    """None: the cluster did not report all of them."""
    keeping: Keeping | None
    """None: this user may not see the settings."""
    now: datetime
    watched: timedelta
    """The time before `now` in which `recent` was counted."""


class Limit(str, Enum):
    """What deletes records."""

    TIME = "time"
    SIZE = "size"
    COMPACTION = "compaction"


@dataclass(frozen=True)
class Promise:
    """How long the settings retain a record at the present growth, by each limit that is set."""

    limits: Mapping[Limit, timedelta]

    @property
    def by(self) -> Limit | None:
        """The limit that is reached first; None: no limit is set."""
        return min(self.limits, key=lambda limit: self.limits[limit], default=None)

    @property
    def kept(self) -> timedelta | None:
        """None: for ever."""
        return min(self.limits.values(), default=None)


def oldest(topic: KeptTopic) -> datetime | None:
    """The oldest record since which every partition is complete; None: no record was deleted, or none is left."""
    lost = [each.first for each in (topic.partitions or {}).values() if each.earliest > 0 and each.first is not None]
    return EPOCH + timedelta(milliseconds=max(lost)) if lost else None


def replay_reach(topic: KeptTopic) -> timedelta | None:
    """How far back a replay of all partitions can go today; None: to the beginning of the topic."""
    cut = [each for each in (topic.partitions or {}).values() if each.earliest > 0]
    if any(each.first is None for each in cut):
        return timedelta()
    moment = oldest(topic)
    return None if moment is None else max(timedelta(), topic.now - moment)


def growth(topic: KeptTopic) -> float | None:
    """Bytes per second of one replica of all partitions; None: sizes are unknown."""
    each = [_growth(topic, partition) for partition in (topic.partitions or {}).values()]
    return None if topic.partitions is None or None in each else sum(rate for rate in each if rate is not None)


def fastest(topic: KeptTopic) -> float | None:
    """The same, of the fastest growing partition: it reaches a limit by size first."""
    each = [_growth(topic, partition) for partition in (topic.partitions or {}).values()]
    return None if not each or None in each else max(rate for rate in each if rate is not None)


def promise(topic: KeptTopic, keeping: Keeping, *, every_event: bool) -> Promise:
    """`every_event`: whether a replay needs each event, and not only the last one of each key."""
    limits: dict[Limit, timedelta] = {}
    if "delete" in keeping.cleanup and keeping.retention_ms is not None:
        limits[Limit.TIME] = timedelta(milliseconds=keeping.retention_ms)
    rate = fastest(topic)
    if "delete" in keeping.cleanup and keeping.retention_bytes is not None and rate:
        limits[Limit.SIZE] = timedelta(seconds=min(keeping.retention_bytes / rate, 10**11))
    if "compact" in keeping.cleanup and every_event:
        limits[Limit.COMPACTION] = timedelta(milliseconds=keeping.compaction_lag_ms)
    return Promise(limits)


def _growth(topic: KeptTopic, partition: KeptPartition) -> float | None:
    if topic.keeping is not None and topic.keeping.remote:
        return None
    if not partition.recent:
        return 0.0
    if partition.size is None:
        return None
    age = topic.watched
    if partition.first is not None:
        age = min(age, topic.now - (EPOCH + timedelta(milliseconds=partition.first)))
    per_offset = partition.size / max(1, partition.offsets)
    return partition.recent * per_offset / max(age, LEAST_WATCHED).total_seconds()
