"""The part of a target table that a run holds: a range of the table's time, or all of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)

MIN_MICROSECONDS = -(10**18)
MAX_MICROSECONDS = 10**18
"""Microseconds since 1970; every Python datetime lies strictly between the two."""


@dataclass(frozen=True)
class TargetRange:
    """[start, end) of `table`. Without a start it begins with the table, without an end it is open.

    `table` is the full name with the catalog: two spellings of one table would count as two targets.
    """

    table: str
    start: datetime | None = None
    end: datetime | None = None

    def __post_init__(self) -> None:
        if not self.table or not self.table.isprintable():
            raise ValueError("a target range needs the full name of its table")
        if self.starts >= self.ends:
            raise ValueError(f"the range of {self.table} ends at {self.end}, not after its start {self.start}")

    @classmethod
    def between(cls, table: str, starts: int, ends: int) -> TargetRange:
        """From microseconds since 1970, the reverse of `starts` and `ends`."""
        return cls(table, _moment(starts), _moment(ends))

    @property
    def starts(self) -> int:
        return MIN_MICROSECONDS if self.start is None else _microseconds(self.start)

    @property
    def ends(self) -> int:
        return MAX_MICROSECONDS if self.end is None else _microseconds(self.end)

    @property
    def is_whole(self) -> bool:
        return self.start is None and self.end is None

    def overlaps(self, other: TargetRange) -> bool:
        return self.table == other.table and self.starts < other.ends and other.starts < self.ends

    def __str__(self) -> str:
        if self.is_whole:
            return f"all of {self.table}"
        start = "the beginning" if self.start is None else self.start.isoformat()
        end = "the end" if self.end is None else self.end.isoformat()
        return f"{self.table} from {start} to {end}"


def _microseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return (moment - _EPOCH) // _MICROSECOND


def _moment(microseconds: int) -> datetime | None:
    if microseconds in (MIN_MICROSECONDS, MAX_MICROSECONDS):
        return None
    return _EPOCH + timedelta(microseconds=microseconds)
