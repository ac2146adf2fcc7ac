"""What is known of wrong rows and of the ways to correct them: the facts that advice is given from. Frozen values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from anabranch.contract.pipeline import PipelineClass
from anabranch.readiness.readers import Readers


class LiveCode(str, Enum):
    """How the code on disk stands to what has written the table."""

    FIXED = "fixed"
    """Live runs it by now, and other code has written before."""
    NOT_RESTARTED = "not-restarted"
    """Live's newest commit is by other code: what is wrong goes on."""
    THE_SAME = "the-same"
    """All that the table's history tells is by this very code: a replay by it gives the same rows."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Archive:
    """A table of the lake that holds the raw records."""

    table: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class Rates:
    """As a rehearsal of this pipeline has measured them."""

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
    """How many of them are wrong; None: nobody has said, so it may be all."""
    tolerable: float
    """The share of wrong rows that its readers can live with. Only they can say."""
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
        """Of wrong rows; None: not known. Rows that are missing altogether may be more than there are."""
        return None if self.affected is None else min(1.0, self.affected / max(1, self.rows))


@dataclass(frozen=True)
class Usage:
    """What a way of correcting uses, as far as it is known."""

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
"""What a usage costs; None: there is no price for it."""


def no_price(_usage: Usage) -> Money | None:
    return None
