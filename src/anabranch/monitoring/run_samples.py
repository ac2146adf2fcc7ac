"""Samples of runs, from what was read of the control database. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.monitoring import definitions as metrics
from anabranch.monitoring.samples import Sample, Samples
from anabranch.monitoring.tally import Tally
from anabranch.monitoring.throttling import Held
from anabranch.replay.ledger import FATES
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import Lease
from anabranch.runs.pace import Pace
from anabranch.runs.run import Run
from anabranch.runs.states import TERMINAL, State


@dataclass(frozen=True)
class OpenRun:
    """What only a run that is not closed has."""

    lease: Lease
    pace: Pace | None = None
    cost_ratio: float | None = None
    """None: the contract has no budget."""


@dataclass(frozen=True)
class DatabaseReading:
    at: datetime
    runs: Sequence[Run] = ()
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    """Of every run, by its id."""
    open: Mapping[str, OpenRun] = field(default_factory=dict)
    """Of every run that is not closed."""
    throttled: Mapping[Held, float] = field(default_factory=dict)


def run_samples(reading: DatabaseReading, pipelines: Sequence[str]) -> Samples:
    """`pipelines` are the project's: their counters begin at 0 before their first run."""
    yield from _counters(reading, pipelines)
    for run in reading.runs:
        if run.state not in TERMINAL:
            yield from _of_run(run, reading.tallies[run.id], reading.open[run.id], reading.at)


def _counters(reading: DatabaseReading, pipelines: Sequence[str]) -> Samples:
    pipeline_of = {run.id: run.pipeline for run in reading.runs}
    throttled: dict[tuple[str, str], float] = defaultdict(float)
    for (run, source), seconds in reading.throttled.items():
        if run in pipeline_of:
            throttled[pipeline_of[run], source] += seconds
    for name in dict.fromkeys((*pipelines, *pipeline_of.values())):
        tallies = [reading.tallies[run] for run, pipeline in pipeline_of.items() if pipeline == name]
        for state in (Outcome.SUCCEEDED.value, Outcome.FAILED.value):
            yield Sample(metrics.SLICES, sum(each.slices.get(state, 0) for each in tallies), (name, state))
        for fate in FATES:
            yield Sample(metrics.RECORDS, sum(each.account.fates[fate] for each in tallies), (name, fate))
        yield Sample(metrics.READ_BYTES, sum(each.bytes for each in tallies), (name,))
        yield Sample(metrics.QUARANTINED, sum(each.account.quarantined for each in tallies), (name, "replay"))
        promoted = max((each.promoted_at for each in tallies if each.promoted_at), default=None)
        yield Sample(metrics.LAST_SUCCESS, None if promoted is None else promoted.timestamp(), (name,))
    for labels, seconds in throttled.items():
        yield Sample(metrics.THROTTLED, seconds, labels)


def _of_run(run: Run, tally: Tally, now_open: OpenRun, at: datetime) -> Samples:
    yield Sample(metrics.RUN_INFO, 1, (run.id, run.pipeline, run.target.table))
    yield Sample(metrics.RUN_STATE, 1, (run.id, run.state.value))
    yield Sample(metrics.RUN_PROGRESS, tally.staged / tally.planned if tally.planned else None, (run.id,))
    yield Sample(metrics.COST_RATIO, now_open.cost_ratio, (run.id,))
    expires = now_open.lease.expires_at
    yield Sample(metrics.RUN_LEASE, None if expires is None else expires.timestamp(), (run.id,))
    if run.state is State.REPLAYING and expires is not None and at < expires:
        yield from _of_replay(run.id, tally, now_open, at)


def _of_replay(run: str, tally: Tally, now_open: OpenRun, at: datetime) -> Samples:
    """Of a replay whose process is alive."""
    allowed = None if now_open.pace is None else now_open.pace.details.get("bytes_per_second")
    yield Sample(metrics.RATE, allowed, (run, "allowed"))
    recent = tally.recent
    if recent is None or at <= recent.since:
        return
    elapsed = (at - recent.since).total_seconds()
    yield Sample(metrics.RATE, recent.bytes / elapsed, (run, "actual"))
    if recent.offsets and tally.planned > tally.staged:
        yield Sample(metrics.RUN_ETA, (tally.planned - tally.staged) * elapsed / recent.offsets, (run,))
