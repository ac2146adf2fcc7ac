"""The status of live, as shown by `live status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from anabranch.live.progress import Progress
from anabranch.live.record import DriverPhase, DriverRecord


class LiveState(str, Enum):
    RUNNING = "running"
    STARTING = "starting"
    STOPPED = "stopped"
    FAILED = "failed"
    """It ended with an error, which is recorded."""
    DIED = "died"
    """Crashed or killed: its process ended without recording an error."""


@dataclass(frozen=True)
class Lag:
    """Offsets between the consumer group and the end of the topic, by partition."""

    partitions: Mapping[int, int]

    @property
    def total(self) -> int:
        return sum(self.partitions.values())


@dataclass(frozen=True)
class LiveStatus:
    pipeline: str
    state: LiveState
    pid: int | None
    record: DriverRecord | None
    progress: Progress | None
    lag: Lag | None
    """None if Kafka does not answer."""
    code_on_disk: str
    log: Path

    @property
    def code_differs(self) -> bool:
        """Whether the transform on disk differs from the running one; it takes effect at the next start."""
        return self.record is not None and self.record.code not in (None, self.code_on_disk)

    def as_dict(self) -> dict[str, Any]:
        record, progress = self.record, self.progress
        last = progress.recent[-1] if progress and progress.recent else None
        rate = progress.records_per_second if progress else None
        return {
            "pipeline": self.pipeline,
            "state": self.state.value,
            "pid": self.pid,
            "query": record.query if record else None,
            "last_batch": None
            if last is None
            else {
                "batch": last.batch,
                "records": last.records,
                "rows": last.rows,
                "quarantined": last.quarantined,
                "late": last.late,
                "seconds": round(last.ended - last.started, 3),
            },
            "since_start": None
            if progress is None
            else {
                "batches": progress.batches,
                "records": progress.records,
                "rows": progress.rows,
                "quarantined": progress.quarantined,
                "late": progress.late,
            },
            "offsets": dict(progress.offsets) if progress else None,
            "records_per_second": None if rate is None else round(rate, 1),
            "event_time": progress.event_time if progress else None,
            "lag": None
            if self.lag is None
            else {"total": self.lag.total, "partitions": {str(p): lag for p, lag in self.lag.partitions.items()}},
            "group_error": progress.group_error if progress else None,
            "code": record.code if record else None,
            "code_on_disk": self.code_on_disk,
            "code_differs": self.code_differs,
            "silent": dict(record.silent) if record and self.pid is not None else {},
            "error": record.error if record else None,
            "log": str(self.log),
        }


def live_state(record: DriverRecord | None, alive: bool) -> LiveState:
    """The state of live from its driver's record and whether its process runs."""
    if alive:
        return LiveState.RUNNING if record and record.phase is DriverPhase.RUNNING else LiveState.STARTING
    if record is None or record.phase is DriverPhase.STOPPED:
        return LiveState.STOPPED
    return LiveState.FAILED if record.phase is DriverPhase.FAILED else LiveState.DIED


def measure_lag(ranges: Mapping[int, tuple[int, int]], committed: Mapping[int, int]) -> Lag:
    """Lag from the group's offset, or from the first offset if it has none, to the end."""
    return Lag({p: max(0, end - max(first, committed.get(p, first))) for p, (first, end) in sorted(ranges.items())})
