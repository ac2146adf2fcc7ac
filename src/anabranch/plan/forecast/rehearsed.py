"""What a rehearsal has measured, as frozen values: what windows and costs are told from. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any

from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice

KIND = "rehearsal"
"""Of its evidence; `gates/binding.py` says what that counts for."""
STAGES = ("broker", "network", "decode", "transform", "write", "commit")


@dataclass(frozen=True)
class Fit:
    """How long a slice takes: so long whatever it holds, and so long for each record."""

    slice_seconds: float
    record_seconds: float

    def seconds(self, records: int) -> float:
        return self.slice_seconds + records * self.record_seconds


def fit(timed: Sequence[tuple[int, float]]) -> Fit:
    """The straight line through (records, seconds). Where it would fall, or begin below nothing, the mean rate.

    Slices of two sizes at least should be given: from one size nobody can tell what a slice takes however small.
    """
    records, seconds = fmean(each for each, _ in timed), fmean(each for _, each in timed)
    spread = sum((each - records) ** 2 for each, _ in timed)
    slope = sum((r - records) * (s - seconds) for r, s in timed) / spread if spread else 0.0
    if slope <= 0 or seconds < slope * records:
        return Fit(0.0, seconds / max(1.0, records))
    return Fit(seconds - slope * records, slope)


@dataclass(frozen=True)
class Rehearsed:
    records_per_second: float
    """In slices of the size that was rehearsed, with all that a slice takes."""
    bytes_per_second: float
    validate_seconds_per_million_rows: float
    promote_seconds: float
    rollback_seconds: float
    commit_seconds: float
    live_lag_with: int | None
    live_lag_without: int | None
    live_latency_with: float | None
    live_latency_without: float | None
    """The worst seen while the replay read, and while it rested; None: live was not there, or nothing came."""
    bottleneck: str
    records: int
    bytes: int
    slice_seconds: float
    record_seconds: float
    arrivals_per_second: float
    """What came into the topic meanwhile."""
    cores: int
    stages: Mapping[str, float]
    """Seconds of one slice, by stage."""
    bytes_per_second_limit: int | None
    """The contract's limit, to which the rehearsal was held; None: it has none."""

    @property
    def bytes_per_record(self) -> float:
        return self.bytes / max(1, self.records)

    def replay_seconds(self, slices: Sequence[Slice], bytes_per_second: int | None) -> float:
        """Of these slices; those that the contract's rate slows down take as long as their bytes at that rate."""
        line = Fit(self.slice_seconds, self.record_seconds)
        return sum(max(line.seconds(each.width), self._paced(each.width, bytes_per_second)) for each in slices)

    def _paced(self, records: int, bytes_per_second: int | None) -> float:
        return records * self.bytes_per_record / bytes_per_second if bytes_per_second else 0.0

    def document(self) -> dict[str, Any]:
        """As its evidence has it."""
        return asdict(self)


def read_rehearsed(found: Mapping[str, Any]) -> Rehearsed:
    """The reverse of `Rehearsed.document`."""
    return Rehearsed(**{each.name: found[each.name] for each in fields(Rehearsed)})


def lanes_of(plan: Plan) -> int:
    """How often each slice is replayed: once more by a control."""
    return 1 if plan.control is None else 2


def bottleneck(stages: Mapping[str, float]) -> str:
    """Where a slice spends most of its time."""
    return max(STAGES, key=lambda stage: stages[stage])
