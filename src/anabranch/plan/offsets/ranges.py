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

from anabranch.plan.offsets.event_span import EventSpan
from anabranch.plan.ports import PartitionFacts, TimestampBounds
from anabranch.plan.target_range import EPOCH, TargetPart, WholeTable

_MILLISECOND = timedelta(milliseconds=1)


class EndsBy(str, Enum):
    """Why a partition's range ends where it does."""

    TIME = "time"
    """No later event can be in the range."""
    LIVE = "live"
    """What comes after it, live had not written at the base."""
    LOG = "log"
    """The partition ends there."""
    DOUBT = "doubt"
    """The timestamps are not in the order that the slack promises, so the partition is read to its end."""
    MAP = "map"
    """No zone behind it holds an event of the range."""
    CLOSED = "closed"
    """Live had closed every window of the range there."""


@dataclass(frozen=True)
class Reach:
    """The offsets [start, end) of one partition that hold every event of the range which the table may hold."""

    start: int
    end: int
    by: EndsBy


@dataclass(frozen=True)
class MissingOffsets:
    """Records of a partition that are gone and may have been in the range."""

    partition: int
    before: int
    """The first offset that is still there."""
    kept_from: int | None
    """The timestamp (ms) of the first record still there; None: there is none."""
    declared: bool = True
    """Whether timestamps and the slack leave open that it was in the range."""
    lost_until: int | None = None
    """The last moment (µs) of the range that zones name for what is gone; None: they name none."""


def timestamp_bounds(partitions: TargetPart | EventSpan, slack: timedelta, *, everything: bool) -> TimestampBounds:
    """Which timestamps to look up for these partitions of the target, or for this span of event time."""
    if everything:
        return TimestampBounds(None, None)
    if isinstance(partitions, WholeTable):
        return TimestampBounds(None if partitions.since is None else max(0, _floor(partitions.since - slack)), None)
    return TimestampBounds(max(0, _floor(partitions.start - slack)), _ceiling(partitions.end + 2 * slack))


def reach(facts: PartitionFacts, asked: TimestampBounds, slack: timedelta, live: int | None) -> Reach:
    """How far to read one partition. `live` is where live stood at the base; None: not known."""
    start = _start(facts, asked)
    end, by = _end(facts, asked, slack)
    if live is not None and live < end:
        end, by = live, EndsBy.LIVE
    return Reach(start, max(start, end), by)


def may_be_lost(facts: PartitionFacts, asked: TimestampBounds, slack: timedelta) -> bool:
    """Whether a record that is gone may have been in the range, by timestamps: its own may be up to the slack above
    that of the first one kept."""
    kept_from = None if facts.first is None else facts.first.timestamp
    return asked.start is None or kept_from is None or kept_from + slack // _MILLISECOND >= asked.start


def earliest_start(gone: MissingOffsets, slack: timedelta) -> datetime | None:
    """The first `from` that could still be replayed, as far as this partition goes."""
    after = EPOCH if gone.lost_until is None else EPOCH + timedelta(microseconds=gone.lost_until + 1)
    if not gone.declared:
        return after
    if gone.kept_from is None:
        return None
    return max(after, EPOCH + gone.kept_from * _MILLISECOND + 2 * slack + _MILLISECOND)


def _start(facts: PartitionFacts, asked: TimestampBounds) -> int:
    if asked.start is None:
        return facts.earliest
    # No record is as young as the range, so none is in it.
    return facts.latest if facts.at_start is None else min(facts.at_start.offset, facts.latest)


def _end(facts: PartitionFacts, asked: TimestampBounds, slack: timedelta) -> tuple[int, EndsBy]:
    found = facts.at_end
    if asked.end is None or found is None or found.offset >= facts.latest or facts.after_end == ():
        return facts.latest, EndsBy.LOG
    if _borne_out(facts, asked.end, slack):
        return found.offset, EndsBy.TIME
    return facts.latest, EndsBy.DOUBT


def _borne_out(facts: PartitionFacts, end: int, slack: timedelta) -> bool:
    """Whether the records from the end on look as the slack promises.

    The first of them must be late enough itself: if it is not, the place that was found is a transaction marker,
    which says nothing about records.
    """
    if not facts.after_end:
        return False
    latest_in_range = end - slack // _MILLISECOND
    return facts.after_end[0].timestamp >= end and all(each.timestamp >= latest_in_range for each in facts.after_end)


def _floor(moment: datetime) -> int:
    return (moment - EPOCH) // _MILLISECOND


def _ceiling(moment: datetime) -> int:
    return -((EPOCH - moment) // _MILLISECOND)
