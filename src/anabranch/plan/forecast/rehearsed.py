"""The measurements of a rehearsal, from which durations and costs are estimated. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any

from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice

KIND = "rehearsal"
"""Kind of its evidence; see `gates/binding.py` for what it is bound to."""
STAGES = ("broker", "network", "decode", "transform", "write", "commit")


@dataclass(frozen=True)
class Fit:
    """Duration of a slice as a line: a constant part, and a part per record."""

    slice_seconds: float
    record_seconds: float

    def seconds(self, records: int) -> float:
        return self.slice_seconds + records * self.record_seconds


def fit(timed: Sequence[tuple[int, float]]) -> Fit:
    """The least-squares line through (records, seconds); the mean rate if slope or constant would be negative.

    Needs slices of at least two sizes: with one size the constant part is unknown.
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
    """In slices of the rehearsed size, including the constant part."""
    bytes_per_second: float
    validate_seconds_per_million_rows: float
    promote_seconds: float
    rollback_seconds: float
    commit_seconds: float
    live_lag_with: int | None
    live_lag_without: int | None
    live_latency_with: float | None
    live_latency_without: float | None
    """Maximum while the replay read, and while it paused; None: live did not run, or no record arrived."""
    bottleneck: str
    records: int
    bytes: int
    slice_seconds: float
    record_seconds: float
    arrivals_per_second: float
    """Records produced to the topic per second during the rehearsal."""
    cores: int
    stages: Mapping[str, float]
    """Seconds of one slice, by stage."""
    bytes_per_second_limit: int | None
    """The contract's limit, applied to the rehearsal; None: no limit."""

    @property
    def bytes_per_record(self) -> float:
        return self.bytes / max(1, self.records)

    def replay_seconds(self, slices: Sequence[Slice], bytes_per_second: int | None) -> float:
        """Duration of these slices, each at least as long as its bytes take at the contract's rate."""
        line = Fit(self.slice_seconds, self.record_seconds)
        return sum(max(line.seconds(each.width), self._paced(each.width, bytes_per_second)) for each in slices)

    def _paced(self, records: int, bytes_per_second: int | None) -> float:
        return records * self.bytes_per_record / bytes_per_second if bytes_per_second else 0.0

    def document(self) -> dict[str, Any]:
        """As its evidence has it."""
        return asdict(self)


def read_rehearsed(document: Mapping[str, Any]) -> Rehearsed:
    """The reverse of `Rehearsed.document`."""
    return Rehearsed(**{each.name: document[each.name] for each in fields(Rehearsed)})


def variants_of(plan: Plan) -> int:
    """How often each slice is replayed: twice with a control."""
    return 1 if plan.control is None else 2


def bottleneck(stages: Mapping[str, float]) -> str:
    """The stage that takes most of a slice's time."""
    return max(STAGES, key=lambda stage: stages[stage])
