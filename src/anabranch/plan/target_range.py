"""The target's time axis: which of its partitions a range of event time falls into, and the widening to whole ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Grain(str, Enum):
    """How wide a partition of the target is."""

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
    """Whole partitions [first, after) of the target along its time axis: what is replaced, all of it and only it."""

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
    """All of the target: what is replaced where a row may hang on events of any time."""

    axis: TimeAxis | None
    """A time column to show the rows by; None: the table has none."""
    since: datetime | None = None
    """The first moment whose events gave wrong rows; None: all of them did."""

    @property
    def start(self) -> None:
        """From the beginning."""

    @property
    def end(self) -> None:
        """To the end."""


TargetPart = PartitionRange | WholeTable
"""What of the target a plan replaces."""


def widen(axis: TimeAxis, start: datetime, end: datetime) -> PartitionRange:
    """The smallest run of whole partitions that holds [start, end). Files then lie wholly inside it or outside."""
    last_moment = end - timedelta(microseconds=1)
    return PartitionRange(axis, ordinal(axis.grain, start), ordinal(axis.grain, last_moment) + 1)


FAR_AHEAD = EPOCH.replace(year=9999)
"""Where "everything" ends. What claims to be later is neither taken out nor put in."""


def everything(axis: TimeAxis) -> PartitionRange:
    """All partitions since 1970: Kafka knows no earlier time."""
    return widen(axis, EPOCH, FAR_AHEAD)
