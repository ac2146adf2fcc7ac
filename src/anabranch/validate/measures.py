"""Measurements of staging and base: values that an adapter makes and the checks evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anabranch.runs.heads import Head

if TYPE_CHECKING:
    from anabranch.validate.attribution import DiffAttribution

Row = Mapping[str, Any]
"""A row for display: JSON values; fractional numbers as text, so that no digit is lost."""

SAMPLE = 20
"""Maximum number of rows in a sample."""

_WORD = 1 << 64


@dataclass(frozen=True)
class Checksum:
    """Checksum of a multiset of rows, independent of their order and files.

    Two sums of two independent hashes of each row. Unlike an exclusive or, a sum detects duplicate rows.
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
    """A column of the target. The id identifies it, not the name."""

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
    """A row before and after; None if it exists on one side only."""

    before: Row | None
    after: Row | None


@dataclass(frozen=True)
class Differences:
    """A sample of rows that differ between base and staging, from some of the changed buckets."""

    paired: bool
    """Whether rows were paired by the target's keys. Otherwise each entry is a row on one side only."""
    buckets: tuple[int, ...] = ()
    rows: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class Nulls:
    """Nulls among the staged rows, in columns that must not have any."""

    counts: Mapping[str, int]
    """By column name as requested."""
    unknown: tuple[str, ...] = ()
    """Requested columns that the table does not have."""
    sample: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Duplicates:
    """Keys of more than one staged row."""

    keys: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    count: int = 0
    sample: tuple[Row, ...] = ()
    """Keys with their row counts."""


@dataclass(frozen=True)
class Spots:
    """The search for known records among the staged rows."""

    file: str
    expected: int = 0
    problems: tuple[str, ...] = ()
    """Lines that could not be checked, with the reason."""
    missing: tuple[Difference, ...] = ()
    """The known record, and the staged row with the same keys if there is one."""
    missed: int = 0


@dataclass(frozen=True)
class QueryRun:
    """The result of one SQL check."""

    name: str
    sql: str
    error: str | None = None
    sample: tuple[Row, ...] = ()
    more: bool = False
    """Whether there are more rows than the sample."""


@dataclass(frozen=True)
class OutOfRangeFile:
    """A data or delete file that staging added or removed outside the range."""

    path: str
    added: bool
    rows: int


@dataclass(frozen=True)
class OutOfRangeFiles:
    """Files outside the range that differ between staging and base."""

    count: int = 0
    sample: tuple[OutOfRangeFile, ...] = ()


@dataclass(frozen=True)
class Quarantined:
    """The run's records in the quarantine table."""

    records: int = 0
    sample: tuple[Row, ...] = ()
    """Coordinates and reason, without the raw value."""


@dataclass(frozen=True)
class Measures:
    """All measurements that the checks need."""

    base: Side
    staged: Side
    head: tuple[Column, ...]
    """The table's current columns."""
    schema: str
    """Digest of the table's current columns, made like the plan's."""
    differences: Differences
    nulls: Nulls
    strays: OutOfRangeFiles
    duplicates: Duplicates | None = None
    """None if the target has no keys."""
    spots: Spots | None = None
    queries: tuple[QueryRun, ...] = ()
    quarantined: Quarantined = Quarantined()
    charges: DiffAttribution | None = None
    """None without a control replay."""
