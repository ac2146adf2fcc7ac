"""The facts that advice on wrong rows is given from. Frozen values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from anabranch.contract.pipeline import PipelineClass
from anabranch.readiness.readers import Readers


class LiveCode(str, Enum):
    """How the code on disk relates to the code that wrote the table."""

    FIXED = "fixed"
    """Live's newest commit is by the code on disk, and an earlier one by other code."""
    NOT_RESTARTED = "not-restarted"
    """Live's newest commit is by other code: live has not committed since it was corrected, or still runs that code."""
    THE_SAME = "the-same"
    """Every live commit in the table's history is by the code on disk: a replay by it gives the same rows."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Archive:
    """A table that holds the raw records."""

    table: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class Rates:
    """Measured by a rehearsal of this contract."""

    records_per_second: float
    validate_seconds_per_million_rows: float
    promote_seconds: float


@dataclass(frozen=True)
class Incident:
    pipeline: str
    pipeline_class: PipelineClass
    table: str
    rows: int
    """Of the range, in the table as it is; of the whole table where all of it is replaced."""
    affected: int | None
    """How many of them are wrong; None: unknown, so it may be all."""
    tolerable: float
    """The share of wrong rows that the table's readers tolerate."""
    obstacle: str | None
    """Why the topic can't be replayed; None: it can."""
    records: int | None
    bytes: int | None
    """What a replay reads; None: not known."""
    bytes_per_second: int | None
    """The contract's rate."""
    headroom: timedelta | None
    """Until retention may reach the first record of the range; None: never, or not known."""
    archive: Archive | None
    live: LiveCode
    readers: Readers
    rates: Rates | None

    @property
    def share(self) -> float | None:
        """Of wrong rows; None: unknown. At most 1: missing rows may outnumber those in the table."""
        return None if self.affected is None else min(1.0, self.affected / max(1, self.rows))


@dataclass(frozen=True)
class Usage:
    """The resources that one way uses, as far as they are known."""

    broker_bytes: int = 0
    storage_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Money:
    amount: float
    currency: str

    def __str__(self) -> str:
        return f"{self.amount:,.2f} {self.currency}"


Price = Callable[[Usage], Money | None]
"""The cost of a usage; None: it has no price."""


def no_price(_usage: Usage) -> Money | None:
    return None
