"""What is looked at to observe live from outside: its group and topic, its commits, its driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anabranch.plan.slices import Offsets


@dataclass(frozen=True)
class SeenCommit:
    """A commit of live."""

    at: float
    """When it was committed, in seconds since 1970 by the clock of who committed."""
    offsets: Offsets


@dataclass(frozen=True)
class BatchTiming:
    number: int
    seconds: float
    ratio: float | None
    """Duration over the interval at which batches are triggered; None: the driver recorded no interval."""


STOPPED = "stopped"


@dataclass(frozen=True)
class LiveDriver:
    """A driver of our own live on this machine, which runs or has ended."""

    runs: bool
    ended: str
    """How it ended, if it did: `stopped` on request, `failed`, or `running` for a process that was killed."""
    batches: tuple[BatchTiming, ...]
    """The last ones, oldest first."""
    silent: tuple[str, ...]
    """Services that do not answer it."""


class OffsetSource(Protocol):
    """The topic's log and the pipeline's consumer group. Each raises KafkaUnreachableError."""

    @property
    def group(self) -> str: ...

    def log_ends(self) -> Mapping[int, int]:
        """The last stable offset of each partition that has a leader."""

    def group_offsets(self) -> Mapping[int, int]:
        """What the group has committed; empty: nothing of this topic."""

    def members(self) -> int:
        """How many members the group has."""


class CommitSource(Protocol):
    """Live's commits to the table."""

    @property
    def position(self) -> Mapping[int, int]:
        """The end of each partition by the commits seen so far; empty: none was found."""

    @property
    def last(self) -> float | None:
        """When the newest was committed, by the clock of who committed."""

    @property
    def gap(self) -> float | None:
        """The usual seconds between two; None: fewer than two were found."""

    def look(self) -> Sequence[SeenCommit]:
        """The commits since the look before, oldest first; raises what the catalog's client raises."""


class DriverSource(Protocol):
    def driver(self) -> LiveDriver | None:
        """None: no driver of live ran on this machine. Raises an AnabranchError where that can't be read."""
