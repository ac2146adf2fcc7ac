"""The ports of readiness. Their methods are read-only unless documented otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.plan.forecast.rehearsed import Rehearsed
from anabranch.plan.offsets.completeness import MicrosRange
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.plan.ports import SourceFacts, TimestampBounds
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.plan.target_range import PartitionRange, TimeAxis
from anabranch.readiness.incident import Archive
from anabranch.readiness.readers import Readers
from anabranch.readiness.retention import TopicVerdict
from anabranch.replay.replayer import RunObserver, SliceWriter
from anabranch.replay.staged import StagedRun, StoppedReplay
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head
from anabranch.runs.run import Run
from anabranch.runs.run_lease import RunLease
from anabranch.validate.accepted import ValidationResult


class LivePositions(Protocol):
    """The present positions of a pipeline's live and its topic. Every call observes; raises KafkaUnreachableError."""

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
    """The snapshots and checkpoints of one pipeline, and its topic. Read-only."""

    def snapshots(self) -> tuple[TableSnapshot, ...]:
        """Every snapshot of the table that records its offsets, newest first."""

    def checkpoints(self) -> tuple[StreamCheckpoint, ...]:
        """Every stored checkpoint of live's stream, newest first."""

    def live_ends(self) -> Mapping[int, int]:
        """Where live's commits to the table end."""

    def axis(self) -> TimeAxis | None:
        """The table's time; None: it has none."""

    def measure(self, bounds: TimestampBounds) -> SourceFacts:
        """The topic, with its offsets at these timestamps. Raises KafkaUnreachableError."""

    def zones(self, topic: str, moments: MicrosRange) -> ZoneMap:
        """The zone map of the topic with this id; empty if none was built."""


class RehearsalTools(Protocol):
    """What a rehearsal of one plan works with: a scratch branch, and the writer and the validation of a replay."""

    def remove_branches(self) -> None:
        """Remove the rehearsal's branches, also those of one whose process was killed. Idempotent."""

    def make_branch(self) -> None:
        """Commit the scratch branch as staging is made: the base without the range."""

    def staging(self) -> Staging:
        """The branch that was made."""

    def head(self, staging: Staging) -> Head:
        """The newest snapshot of the branch."""

    def writer(self) -> SliceWriter:
        """A replay's writer, but that bad records are only counted and not set aside."""

    def live(self) -> LivePositions: ...

    def observe_inputs(self) -> None:
        """Read the plan's inputs as a replay does before each slice: its time is part of a slice's."""

    def time_stages(
        self,
        slice_: Slice,
        staging: Staging,
        clock: Callable[[], float],
        write: Callable[[], float],
        commit: float,
    ) -> dict[str, float]:
        """Seconds of each stage of a slice whose commit takes `commit`. `write` writes it and returns its seconds."""

    def validation(self, head: Head) -> Callable[[], float]:
        """Prepared for the partitions that the branch has filled: each call validates them, and returns their rows."""

    def rehearse_rollback(self, head: Head, clock: Callable[[], float]) -> RehearsedRollback:
        """Promote the branch's files on a scratch branch of main and roll back. Main is unchanged."""

    def cores(self) -> int:
        """How many tasks run at once."""


class DrillSources(Protocol):
    """The observations from which a drill chooses its range and answers. Every call observes."""

    def plan(self, contract: Mapping[str, Any], now: datetime) -> Planned:
        """Raises PlanRefusedError. Leaves the contract where people find it, and changes nothing else."""

    def submit(self, planned: Planned, now: datetime, actor: str) -> str:
        """The id of the run of this plan. Raises RangeHeldError while another run holds the range."""

    def filled_partitions(self) -> Sequence[tuple[PartitionRange, int]]:
        """The last partitions that have rows, newest first, with their number of rows."""

    def snapshots(self) -> Sequence[TableSnapshot]:
        """Every snapshot of the table that records its offsets, newest first."""

    def live_position(self) -> Mapping[int, int]:
        """Where live's newest commit to the table ends; empty: live has committed nothing."""

    def live_codes(self) -> Sequence[str]:
        """The codes that live's commits to the table were made by, each once, the newest first."""

    def code(self) -> str:
        """The digest of the transform on disk."""

    def readers(self) -> Readers: ...

    def retention(self, now: datetime) -> TopicVerdict | None:
        """Of the pipeline's topic; None: the cluster does not show it."""


class DrillRun(Protocol):
    """One run, as far as a drill takes it."""

    @property
    def run_id(self) -> str: ...

    @property
    def run(self) -> Run:
        """As the store has it now."""

    @property
    def plan(self) -> Plan: ...

    def lag(self) -> int | None:
        """Live's lag in offsets; None: it can't be read."""

    def lease(self) -> AbstractContextManager[RunLease]:
        """Raises if a living process holds the run."""

    def replay(self, lease: RunLease, watch: RunObserver) -> StagedRun | StoppedReplay: ...

    def validate(self, lease: RunLease, now: datetime) -> ValidationResult: ...

    def close(self, lease: RunLease, now: datetime) -> Mapping[str, Any]:
        """Write the closure record and remove staging."""
