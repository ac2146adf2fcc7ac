"""The facts about topic and table that the planner needs, and the protocols that measure them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from anabranch.plan.request import BackfillRequest
from anabranch.plan.strategies.live_batches import WindowedBatch
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.target_range import TargetPart
from anabranch.runs.heads import Head


@dataclass(frozen=True)
class OffsetAtTime:
    """An offset with the broker's timestamp (ms) for it."""

    offset: int
    timestamp: int


@dataclass(frozen=True)
class TimestampBounds:
    """Timestamps (ms) to look up in the topic; None: its beginning or its end."""

    start: int | None
    end: int | None


@dataclass(frozen=True)
class PartitionFacts:
    """One partition of the topic. `at_start` and `at_end` are the first offsets with at least that timestamp."""

    earliest: int
    latest: int
    """The last stable offset: the end for a read_committed reader."""
    high_watermark: int
    first: OffsetAtTime | None
    at_start: OffsetAtTime | None
    at_end: OffsetAtTime | None
    after_end: tuple[OffsetAtTime, ...] | None
    """Records read from `at_end` on, by offset; None: they could not be read."""
    size: int | None
    """Bytes on disk; None: the cluster did not report it."""


@dataclass(frozen=True)
class TopicSettings:
    cleanup: frozenset[str]
    retention_ms: int | None
    """None: retained for ever."""
    retention_bytes: int | None
    """Per partition. None: no limit."""
    timestamps: str
    """CreateTime or LogAppendTime."""


@dataclass(frozen=True)
class SourceFacts:
    topic: str
    uuid: str
    partitions: Mapping[int, PartitionFacts]
    settings: TopicSettings | None
    """None: no permission to read them."""
    transactional: bool | None
    """True: a transaction was seen. None: none was seen, which is no proof."""

    @property
    def compacted(self) -> bool | None:
        return None if self.settings is None else "compact" in self.settings.cleanup


@dataclass(frozen=True)
class LiveHistory:
    """What the commits up to the base record."""

    ends: Mapping[int, int]
    """Live's position at the base, by partition: the newest end offset that its commits record."""
    commits: int
    complete: bool
    """Whether the history goes back to the table's first commit; expired commits may have recorded more."""
    others: frozenset[str]
    """Other pipelines that have written to the table."""
    foreign: int
    """Number of commits by an unknown writer."""
    watermark: int | None = None
    """Watermark (ms) of the newest live commit with windows: windows that ended by then are final."""


@dataclass(frozen=True)
class TargetFacts:
    table: str
    base: Head | None
    """None: the table has no snapshot yet."""
    schema: str
    columns: tuple[str, ...]
    partitions: TargetPart
    """The requested range, widened to whole partitions; or the whole table."""
    files: int
    rows: int
    """Of the range, at the base."""
    live: LiveHistory
    states: tuple[TableSnapshot, ...] = ()
    """Snapshots that a replay may start from, newest first; empty where a range is replaced."""
    batches: tuple[WindowedBatch, ...] = ()
    """Live's batches with windows, as far back as history is retained, for a stream-faithful replay."""


class SourceSurveyor(Protocol):
    def measure(self, topic: str, bounds: TimestampBounds) -> SourceFacts:
        """Measure the topic. Joins no group, commits no offset, creates nothing."""


class TargetSurveyor(Protocol):
    def measure(self, request: BackfillRequest) -> TargetFacts:
        """Measure the pipeline's table. Raises if it does not exist or is not partitioned by time."""
