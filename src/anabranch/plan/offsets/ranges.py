"""From event time to offsets, by the topic's timestamps and the pipeline's slack. Pure.

Two things are assumed, and the slack bounds both: a record's timestamp is within the slack of the event's own time,
and timestamps run backwards along a partition by no more than the slack. Then for events of [from, to):

- The **start** is the first place with a timestamp of at least from − slack. A broker returns the very first such
  place, whatever the order of timestamps, and no event of the range has a lower timestamp: so none lies before it.
- The **end** is the first place with a timestamp of at least to + 2 · slack. An event after it has a timestamp of at
  least to + slack, so its own time is not before `to`. With one slack only, an event that arrived late behind one
  that was early would be missed.

With LogAppendTime the second assumption holds by itself; with CreateTime producers may break it, and a broker's
lookup also returns transaction markers, which carry the time of the commit however old the records are. So an end is
believed only if records were read from there on and bear it out; otherwise the partition is read to its end, which
costs reading and loses nothing, since every record is filtered by its event time afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from anabranch.plan.ports import PartitionFacts, TimestampBounds
from anabranch.plan.target_range import EPOCH, EventSpan, TargetPart, WholeTable

_MILLISECOND = timedelta(milliseconds=1)


class EndsBy(str, Enum):
    """Why a partition's range ends where it does."""

    TIME = "time"
    """No later event can be in the range."""
    LIVE = "live"
    """Live's position at the base."""
    LOG = "log"
    """The partition ends there."""
    DOUBT = "doubt"
    """Timestamps violate the declared slack, so the partition is read to its end."""
    MAP = "map"
    """No later zone contains an event of the range."""
    CLOSED = "closed"
    """Live had closed every window of the range there."""


@dataclass(frozen=True)
class OffsetRange:
    """Offsets [start, end) of one partition that contain every event of the range which live has written."""

    start: int
    end: int
    by: EndsBy


@dataclass(frozen=True)
class MissingOffsets:
    """Deleted records of a partition that may have been in the range."""

    partition: int
    before: int
    """The first retained offset."""
    kept_from: int | None
    """The timestamp (ms) of the first retained record; None: there is none."""
    declared: bool = True
    """Whether the range is possible by timestamps and slack."""
    lost_until: int | None = None
    """The last event time (µs) in the range among the deleted records, by zones; None: no zone has one."""


def timestamp_bounds(partitions: TargetPart | EventSpan, slack: timedelta, *, everything: bool) -> TimestampBounds:
    """Which timestamps to look up for these partitions of the target, or for this span of event time."""
    if everything:
        return TimestampBounds(None, None)
    if isinstance(partitions, WholeTable):
        return TimestampBounds(None if partitions.since is None else max(0, _floor(partitions.since - slack)), None)
    return TimestampBounds(max(0, _floor(partitions.start - slack)), _ceiling(partitions.end + 2 * slack))


def offsets_by_slack(facts: PartitionFacts, bounds: TimestampBounds, slack: timedelta, live: int | None) -> OffsetRange:
    """The offsets to read by timestamps and slack. `live` is live's position at the base; None: unknown."""
    start = _start(facts, bounds)
    end, by = _end(facts, bounds, slack)
    if live is not None and live < end:
        end, by = live, EndsBy.LIVE
    return OffsetRange(start, max(start, end), by)


def may_be_lost(facts: PartitionFacts, bounds: TimestampBounds, slack: timedelta) -> bool:
    """Whether a deleted record may have been in the range, by timestamps: its own may exceed that of the first
    retained record by up to the slack."""
    kept_from = None if facts.first is None else facts.first.timestamp
    return bounds.start is None or kept_from is None or kept_from + slack // _MILLISECOND >= bounds.start


def earliest_start(gone: MissingOffsets, slack: timedelta) -> datetime | None:
    """The first `from` that can still be replayed from this partition."""
    after = EPOCH if gone.lost_until is None else EPOCH + timedelta(microseconds=gone.lost_until + 1)
    if not gone.declared:
        return after
    if gone.kept_from is None:
        return None
    return max(after, EPOCH + gone.kept_from * _MILLISECOND + 2 * slack + _MILLISECOND)


def _start(facts: PartitionFacts, bounds: TimestampBounds) -> int:
    if bounds.start is None:
        return facts.earliest
    # No record has a timestamp in the range or later, so none is in it.
    return facts.latest if facts.at_start is None else min(facts.at_start.offset, facts.latest)


def _end(facts: PartitionFacts, bounds: TimestampBounds, slack: timedelta) -> tuple[int, EndsBy]:
    candidate = facts.at_end
    if bounds.end is None or candidate is None or candidate.offset >= facts.latest or facts.after_end == ():
        return facts.latest, EndsBy.LOG
    if _end_confirmed(facts, bounds.end, slack):
        return candidate.offset, EndsBy.TIME
    return facts.latest, EndsBy.DOUBT


def _end_confirmed(facts: PartitionFacts, end: int, slack: timedelta) -> bool:
    """Whether the records from the end on agree with the declared slack.

    The first of them must itself have a timestamp of at least `end`; otherwise the lookup returned a transaction
    marker, which proves nothing about records.
    """
    if not facts.after_end:
        return False
    latest_in_range = end - slack // _MILLISECOND
    return facts.after_end[0].timestamp >= end and all(each.timestamp >= latest_in_range for each in facts.after_end)


def _floor(moment: datetime) -> int:
    return (moment - EPOCH) // _MILLISECOND


def _ceiling(moment: datetime) -> int:
    return -((EPOCH - moment) // _MILLISECOND)
