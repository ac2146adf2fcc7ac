"""The target's time axis: the partitions of a range of event time, widened to whole ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Grain(str, Enum):
    """The width of the target's partitions."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"


def ordinal(grain: Grain, moment: datetime) -> int:
    """The number of the partition that holds `moment`, counted from 1970 as the table format counts."""
    match grain:
        case Grain.HOUR:
            return (moment - EPOCH) // timedelta(hours=1)
        case Grain.DAY:
            return (moment - EPOCH) // timedelta(days=1)
        case Grain.MONTH:
            utc = moment.astimezone(timezone.utc)
            return (utc.year - 1970) * 12 + utc.month - 1
        case Grain.YEAR:
            return moment.astimezone(timezone.utc).year - 1970


def beginning(grain: Grain, number: int) -> datetime:
    """The first moment of a partition."""
    match grain:
        case Grain.HOUR:
            return EPOCH + timedelta(hours=number)
        case Grain.DAY:
            return EPOCH + timedelta(days=number)
        case Grain.MONTH:
            return EPOCH.replace(year=1970 + number // 12, month=number % 12 + 1)
        case Grain.YEAR:
            return EPOCH.replace(year=1970 + number)


@dataclass(frozen=True)
class TimeAxis:
    """The column by whose time the target is partitioned, and how finely."""

    column: str
    grain: Grain


@dataclass(frozen=True)
class PartitionRange:
    """Whole partitions [first, after) of the target along its time axis; exactly these are replaced."""

    axis: TimeAxis
    first: int
    after: int

    @property
    def start(self) -> datetime:
        return beginning(self.axis.grain, self.first)

    @property
    def end(self) -> datetime:
        return beginning(self.axis.grain, self.after)

    def __contains__(self, number: int) -> bool:
        return self.first <= number < self.after


@dataclass(frozen=True)
class WholeTable:
    """The whole target, which is replaced where a row may depend on events of any time."""

    axis: TimeAxis | None
    """A time column to show the rows by; None: the table has none."""
    since: datetime | None = None
    """Start of the range with wrong rows; None: the whole history."""

    @property
    def start(self) -> None:
        """From the beginning."""

    @property
    def end(self) -> None:
        """To the end."""


TargetPart = PartitionRange | WholeTable
"""The part of the target that a plan replaces."""


def widen(axis: TimeAxis, start: datetime, end: datetime) -> PartitionRange:
    """The smallest range of whole partitions that contains [start, end), so that every file is inside or outside."""
    last_moment = end - timedelta(microseconds=1)
    return PartitionRange(axis, ordinal(axis.grain, start), ordinal(axis.grain, last_moment) + 1)


FAR_AHEAD = EPOCH.replace(year=9999)
"""The end of "everything". Rows with a later time are neither removed nor added."""


def everything(axis: TimeAxis) -> PartitionRange:
    """All partitions since 1970: Kafka knows no earlier time."""
    return widen(axis, EPOCH, FAR_AHEAD)


@dataclass(frozen=True)
class EventSpan:
    """The event times [start, end) that a replay reads: wider than the range where rows need events outside it."""

    start: datetime
    end: datetime
