"""What decides when a topic deletes the offsets that a replay still needs, and the protocol that measures it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from anabranch.plan.ports import OffsetAtTime
from anabranch.plan.slices import Slice


@dataclass(frozen=True)
class RetentionSettings:
    """The topic's settings that delete records."""

    retention_ms: int | None
    """None: no limit by time."""
    retention_bytes: int | None
    """Of one partition. None: no limit by size."""
    segment_ms: int | None = None
    segment_bytes: int | None = None
    """A segment is deleted as a whole, once its newest record is old enough. None: unknown."""


@dataclass(frozen=True)
class PartitionLog:
    """One partition, from the first offset on that the replay still needs."""

    earliest: int
    latest: int
    marks: tuple[OffsetAtTime, ...] = ()
    """Records with their timestamps, by offset; the first is the first one at or after the first needed offset. Empty:
    none could be read."""
    size: int | None = None
    """Bytes on disk; None: the cluster did not report it."""
    bytes_per_second: float | None = None
    """Growth, as observed; None: unknown."""


@dataclass(frozen=True)
class RetentionFacts:
    topic: str
    at: datetime
    settings: RetentionSettings | None
    """None: this user may not read them."""
    partitions: Mapping[int, PartitionLog]


class RetentionObserver(Protocol):
    def measure(self, slices: Iterable[Slice]) -> RetentionFacts:
        """The topic's settings, and the partitions that these slices read. Joins no group and changes nothing.

        All is unknown of a topic that is gone, which is for drift to report. Raises KafkaUnreachableError.
        """


def first_needed(slices: Iterable[Slice]) -> dict[int, int]:
    """The first offset that the slices read, by partition."""
    first: dict[int, int] = {}
    for slice_ in slices:
        for partition, offset in starts_of(slice_).items():
            first[partition] = min(offset, first.get(partition, offset))
    return first


def starts_of(slice_: Slice) -> dict[int, int]:
    """The first offset that one slice reads, by partition."""
    return {partition: ranges[0][0] for partition, ranges in slice_.needed.items() if ranges}
