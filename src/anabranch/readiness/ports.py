"""What readiness requires of the outside world. All of it is read only, but for what says otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.offsets.completeness import Moments
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.planner import Planned
from anabranch.plan.ports import SourceFacts, TimestampBounds
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.plan.target_range import TimeAxis
from anabranch.readiness.incident import Archive
from anabranch.readiness.readers import Readers


class LivePositions(Protocol):
    """Where one pipeline's live and its topic's log are now. Each call observes anew; raises KafkaUnreachableError."""

    def log_ends(self) -> Mapping[int, int]:
        """The end offset of each partition."""

    def of_group(self) -> Mapping[int, int]:
        """What live's consumer group has committed; empty: nothing."""

    def of_table(self) -> Mapping[int, int]:
        """Where live's commits to the table end; empty: none is left in the table's history."""


class IncidentSources(Protocol):
    """What advice on one contract is given from. Changes nothing; raises KafkaUnreachableError."""

    def plan(self) -> Planned:
        """Raises PlanRefusedError."""

    def rows(self) -> int:
        """Of the contract's range, in the table as it is; asked where there is no plan."""

    def archive(self, name: str) -> Archive:
        """Raises if there is no table of this name."""

    def live_codes(self) -> Sequence[str]:
        """The codes that live's commits to the table were made by, each once, the newest first."""

    def code(self) -> str:
        """The digest of the transform on disk."""

    def readers(self) -> Readers: ...

    def rehearsed(self, planned: Planned) -> Rehearsed | None:
        """The last rehearsal of this contract; None: none is valid."""


class StartPointSources(Protocol):
    """Where one pipeline's snapshots and checkpoints are kept, and what its topic holds. Changes nothing."""

    def snapshots(self) -> tuple[TableSnapshot, ...]:
        """Every snapshot of the table that records its offsets, newest first."""

    def checkpoints(self) -> tuple[StreamCheckpoint, ...]:
        """Every kept checkpoint of live's stream, newest first."""

    def live_ends(self) -> Mapping[int, int]:
        """Where live's commits to the table end."""

    def axis(self) -> TimeAxis | None:
        """The table's time; None: it has none."""

    def measure(self, bounds: TimestampBounds) -> SourceFacts:
        """The topic, with its offsets at these timestamps. Raises KafkaUnreachableError."""

    def zones(self, topic: str, moments: Moments) -> ZoneMap:
        """The zone map of the topic with this id; empty if none was built."""
