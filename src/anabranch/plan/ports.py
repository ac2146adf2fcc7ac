"""What the planner must know of the topic and of the table, and who measures it. Frozen values; adapters fill them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from anabranch.plan.request import BackfillRequest
from anabranch.plan.strategies.live_batches import LiveBatch
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.target_range import TargetPart
from anabranch.runs.heads import Head


@dataclass(frozen=True)
class OffsetAtTime:
    """A place in a partition, with the timestamp (ms) that the broker has for it."""

    offset: int
    timestamp: int


@dataclass(frozen=True)
class TimestampBounds:
    """The two timestamps (ms) to look up in the topic; None: from its beginning, or to its end."""

    start: int | None
    end: int | None


@dataclass(frozen=True)
class PartitionFacts:
    """One partition of the topic. The lookups return the first place with at least that timestamp, or None."""

    earliest: int
    latest: int
    """The last stable offset: what a reader of committed records can reach."""
    high_watermark: int
    first: OffsetAtTime | None
    at_start: OffsetAtTime | None
    at_end: OffsetAtTime | None
    after_end: tuple[OffsetAtTime, ...] | None
    """Records that were read from `at_end` on, in order of offset; None: they could not be read."""
    size: int | None
    """Bytes on disk; None: the cluster did not say."""


@dataclass(frozen=True)
class TopicSettings:
    cleanup: frozenset[str]
    retention_ms: int | None
    """None: kept for ever."""
    retention_bytes: int | None
    """Of one partition. None: no limit."""
    timestamps: str
    """CreateTime or LogAppendTime."""


@dataclass(frozen=True)
class SourceFacts:
    topic: str
    uuid: str
    partitions: Mapping[int, PartitionFacts]
    settings: TopicSettings | None
    """None: the cluster did not let us see them."""
    transactional: bool | None
    """True: a transaction was seen. None: none was seen, which proves nothing."""

    @property
    def compacted(self) -> bool | None:
        return None if self.settings is None else "compact" in self.settings.cleanup


@dataclass(frozen=True)
class LiveHistory:
    """What the commits that led to the base say of themselves."""

    ends: Mapping[int, int]
    """Where live stood at the base, by partition: the newest end that its commits tell."""
    commits: int
    complete: bool
    """Whether the history goes back to the table's first commit; an expired one may have told more."""
    others: frozenset[str]
    """Other pipelines that have written to the table."""
    foreign: int
    """Commits that don't say whose they are."""
    watermark: int | None = None
    """Of the newest live commit with windows (ms): those that ended by then are written for good."""


@dataclass(frozen=True)
class TargetFacts:
    table: str
    base: Head | None
    """None: the table has no snapshot yet."""
    schema: str
    columns: tuple[str, ...]
    partitions: TargetPart
    """What was asked for, widened to whole partitions; or all of it."""
    files: int
    rows: int
    """Of the range, at the base."""
    live: LiveHistory
    states: tuple[TableSnapshot, ...] = ()
    """Those that a replay may start from, newest first; none where a range is replaced."""
    batches: tuple[LiveBatch, ...] = ()
    """Of live with windows, as far back as history is kept, where they are the slices."""


class SourceLook(Protocol):
    def measure(self, topic: str, lookups: TimestampBounds) -> SourceFacts:
        """Look at the topic: no group is joined, no offset committed, nothing created."""


class TargetLook(Protocol):
    def measure(self, request: BackfillRequest) -> TargetFacts:
        """Look at the table the pipeline writes to. Refuses one that is missing or not partitioned by time."""
