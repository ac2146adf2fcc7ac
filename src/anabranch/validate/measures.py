"""What was measured of staging and of the base: plain values, made by an adapter and judged by the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anabranch.runs.heads import Head

if TYPE_CHECKING:
    from anabranch.validate.attribution import DiffAttribution

Row = Mapping[str, Any]
"""A row for showing: JSON values, numbers with a fraction as text so that no digit is lost."""

SAMPLE = 20
"""At most so many rows are shown for anything."""

_WORD = 1 << 64


@dataclass(frozen=True)
class Checksum:
    """Of a multiset of rows: the same in whatever order and files they lie, and another if any row is another.

    Two sums over two independent hashes of each row. A sum, unlike an exclusive or, notices a row that is there twice.
    """

    rows: int = 0
    first: int = 0
    second: int = 0

    def __add__(self, other: Checksum) -> Checksum:
        return Checksum(
            self.rows + other.rows, (self.first + other.first) % _WORD, (self.second + other.second) % _WORD
        )

    @property
    def text(self) -> str:
        return f"{self.first:016x}{self.second:016x}"


@dataclass(frozen=True)
class Column:
    """A column of the target as the table format knows it. Another id is another column, whatever its name."""

    id: int
    name: str
    type: str
    required: bool

    def __str__(self) -> str:
        return f"{self.name} {self.type}{' required' if self.required else ''} (id {self.id})"


@dataclass(frozen=True)
class Side:
    """The rows of the range in one snapshot of the table."""

    snapshot: Head
    columns: tuple[Column, ...]
    """All columns of that snapshot, in order."""
    buckets: Mapping[int, Checksum] = field(default_factory=dict)
    """By number of the target's partition; partitions with no rows are left out."""

    @property
    def total(self) -> Checksum:
        return sum(self.buckets.values(), Checksum())


@dataclass(frozen=True)
class Difference:
    """A row before and after; None where there is none."""

    before: Row | None
    after: Row | None


@dataclass(frozen=True)
class Differences:
    """Some rows that differ between base and staging, from a few of the changed buckets."""

    paired: bool
    """By the target's keys. Otherwise each entry is a row that is on one side only."""
    buckets: tuple[int, ...] = ()
    rows: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class Nulls:
    """Missing values among the staged rows, in the columns that may have none."""

    counts: Mapping[str, int]
    """By column as it was asked for."""
    unknown: tuple[str, ...] = ()
    """Columns that were asked for and are not in the table."""
    sample: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Duplicates:
    """Keys that more than one staged row has."""

    keys: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    count: int = 0
    sample: tuple[Row, ...] = ()
    """Keys, and how many rows have them."""


@dataclass(frozen=True)
class Spots:
    """Known records, looked for among the staged rows."""

    file: str
    expected: int = 0
    problems: tuple[str, ...] = ()
    """Lines that could not be looked for, and why."""
    missing: tuple[Difference, ...] = ()
    """The known record, and the staged row with the same keys if there is one."""
    missed: int = 0


@dataclass(frozen=True)
class QueryRun:
    """A check in the user's SQL, as it went."""

    name: str
    sql: str
    error: str | None = None
    sample: tuple[Row, ...] = ()
    more: bool = False
    """Whether there are more rows than the sample."""


@dataclass(frozen=True)
class OutOfRangeFile:
    """A data or delete file that staging added or took away outside the range."""

    path: str
    added: bool
    rows: int


@dataclass(frozen=True)
class OutOfRangeFiles:
    """Files outside the range that are not the same in staging as in the base."""

    count: int = 0
    sample: tuple[OutOfRangeFile, ...] = ()


@dataclass(frozen=True)
class Quarantined:
    """The run's records in the quarantine table."""

    records: int = 0
    sample: tuple[Row, ...] = ()
    """Coordinates and reason; the raw bytes stay in the table."""


@dataclass(frozen=True)
class Measures:
    """All that the checks need to know of the data."""

    base: Side
    staged: Side
    head: tuple[Column, ...]
    """The table's columns now."""
    schema: str
    """Digest of the table's columns now, made as the plan's was."""
    differences: Differences
    nulls: Nulls
    strays: OutOfRangeFiles
    duplicates: Duplicates | None = None
    """None: the target has no keys."""
    spots: Spots | None = None
    queries: tuple[QueryRun, ...] = ()
    quarantined: Quarantined = Quarantined()
    charges: DiffAttribution | None = None
    """None: there is no control to compare with."""
