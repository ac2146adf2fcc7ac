"""When a topic may delete an offset, by time, by size, and by segments. Pure.

The broker deletes whole segments from the head of a partition: by time when the newest record of a segment is older
than `retention.ms`, by size when what follows the segment is at least `retention.bytes`. A record is therefore never
deleted before its own timestamp plus `retention.ms`, nor before `retention.bytes` follow it. These moments decide; how
much later the segment goes is shown, and not counted on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from math import inf

from anabranch.plan.ports import OffsetAtTime
from anabranch.plan.retention.facts import PartitionLog, RetentionFacts, RetentionSettings
from anabranch.plan.target_range import EPOCH

_MILLISECOND = timedelta(milliseconds=1)


class LossBy(str, Enum):
    """What deletes an offset."""

    TIME = "retention.ms"
    SIZE = "retention.bytes"
    GONE = "deleted"
    """The partition begins after it."""


@dataclass(frozen=True)
class Loss:
    """When an offset may be deleted, in seconds from the moment of the facts."""

    seconds: float
    """At the earliest; 0 or less: at any moment. Infinite: never, by the present settings and growth."""
    at_latest: float | None = None
    """When its segment is due, whose later records keep it. None: unknown."""
    by: LossBy | None = None
    """None: never."""


NEVER = Loss(inf)


def loss_of(facts: RetentionFacts, partition: int, offset: int) -> Loss | None:
    """When the offset may be deleted; None: unknown."""
    log, settings = facts.partitions.get(partition), facts.settings
    if log is None or settings is None:
        return None
    if offset < log.earliest:
        return Loss(-inf, -inf, LossBy.GONE)
    limits = list(_limits(facts, log, settings, offset))
    if None in limits:
        return None
    return min((each for each in limits if each is not None), key=lambda each: each.seconds, default=NEVER)


def _limits(
    facts: RetentionFacts, log: PartitionLog, settings: RetentionSettings, offset: int
) -> Iterator[Loss | None]:
    if settings.retention_ms is not None:
        yield _by_time(facts, log, settings, settings.retention_ms, offset)
    if settings.retention_bytes is not None:
        yield _by_size(log, settings, settings.retention_bytes, offset)


def _by_time(
    facts: RetentionFacts, log: PartitionLog, settings: RetentionSettings, kept_ms: int, offset: int
) -> Loss | None:
    timestamp = timestamp_at(log.marks, offset)
    if timestamp is None:
        return None
    now = (facts.at - EPOCH) / _MILLISECOND
    seconds = (timestamp + kept_ms - now) / 1000
    filled = inf if settings.segment_ms is None else settings.segment_ms / 1000
    if settings.segment_bytes is not None and log.bytes_per_second:
        filled = min(filled, settings.segment_bytes / log.bytes_per_second)
    return Loss(seconds, None if filled == inf else seconds + filled, LossBy.TIME)


def _by_size(log: PartitionLog, settings: RetentionSettings, kept: int, offset: int) -> Loss | None:
    if log.size is None or log.bytes_per_second is None:
        return None
    follow = log.size * (log.latest - offset) / max(1, log.latest - log.earliest)
    if not log.bytes_per_second:
        return NEVER if follow < kept else Loss(0.0, None, LossBy.SIZE)
    seconds = (kept - follow) / log.bytes_per_second
    segment = settings.segment_bytes
    return Loss(seconds, None if segment is None else seconds + segment / log.bytes_per_second, LossBy.SIZE)


def timestamp_at(marks: tuple[OffsetAtTime, ...], offset: int) -> int | None:
    """The newest timestamp up to the last mark at or before the offset, since deletion goes from the head: the offset
    stays at least as long as that record. The first mark's before it; None without marks."""
    if not marks:
        return None
    before = marks[: max(1, bisect_right(marks, offset, key=lambda mark: mark.offset))]
    return max(mark.timestamp for mark in before)
