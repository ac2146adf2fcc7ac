"""What a replay's process has noted of itself: its governor's signals, its race against retention, its impact. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import exp
from typing import Any

from anabranch.gates.evidence import ACTION, read_evidence
from anabranch.gates.impact.measured import KIND
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant
from anabranch.runs.pace import Pace
from anabranch.runs.retention import RetentionNote

_BOUNDS = {"low": "lower", "mean": "mean", "high": "upper"}


def governor_of(pace: Pace) -> Mapping[str, Any]:
    """What the governor noted; empty if the replay has none, or it is off."""
    noted: Mapping[str, Any] = pace.details.get("governor") or {}
    return noted


def headroom(note: RetentionNote | None, at: datetime) -> float | None:
    """Seconds until the first record that the run needs may be deleted; None: nothing is known to expire."""
    if note is None or not note.details["reading"]:
        return None
    expiries = [each["expires_at"] for each in note.details["partitions"] if each["expires_at"] is not None]
    return min(((instant(each) - at).total_seconds() for each in expiries), default=None)


@dataclass
class SignalAges:
    """Since when each signal of a run was not read. Of one that was never read, since it was first seen missing."""

    _read_at: dict[tuple[str, str], datetime] = field(default_factory=dict)

    def after(self, run: str, pace: Pace, now: datetime) -> dict[str, float]:
        governor = governor_of(pace)
        age = float(governor.get("age_seconds", 0.0)) + max(0.0, (now - pace.at).total_seconds())
        ages = {each["signal"]: age for each in governor.get("signals", ())}
        for name in ages:
            self._read_at[run, name] = pace.at
        for name in governor.get("silent", ()):
            ages[name] = (now - self._read_at.setdefault((run, name), pace.at)).total_seconds()
        return ages


@dataclass
class MeasuredImpacts:
    """Folds audit records, each once and in order: the newest effect on live's latency that was measured on a run."""

    by_run: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def add(self, records: Iterable[AuditRecord]) -> None:
        for record in records:
            if record.action == f"{ACTION}{KIND}" and record.run_id is not None:
                found: Mapping[str, Any] = read_evidence(record).found
                effect: Mapping[str, float | None] = found["latency"] or {}
                bounds = ((bound, effect.get(name)) for name, bound in _BOUNDS.items())
                self.by_run[record.run_id] = {bound: exp(value) for bound, value in bounds if value is not None}
