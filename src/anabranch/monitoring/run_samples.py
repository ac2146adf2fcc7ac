"""Samples of runs, from what was read of the control database. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.monitoring import definitions as metrics
from anabranch.monitoring.noted import governor_of, headroom
from anabranch.monitoring.samples import MetricSample, Samples
from anabranch.monitoring.tally import Tally
from anabranch.monitoring.throttling import Held
from anabranch.replay.budget_board import BudgetView
from anabranch.replay.budget_shares import queue_order
from anabranch.replay.ledger import FATES
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import Lease
from anabranch.runs.pace import Pace
from anabranch.runs.retention import RetentionNote
from anabranch.runs.run import Run
from anabranch.runs.states import TERMINAL, State


@dataclass(frozen=True)
class OpenRun:
    """What only a run that is not closed has."""

    lease: Lease
    pace: Pace | None = None
    cost_ratio: float | None = None
    """None: the contract has no budget."""
    retention: RetentionNote | None = None
    impact: Mapping[str, float] = field(default_factory=dict)
    """Of live's latency, by bound; empty: not measured on this run."""
    signal_ages: Mapping[str, float] = field(default_factory=dict)
    """Seconds since the governor last read each signal."""


@dataclass(frozen=True)
class DatabaseReading:
    at: datetime
    runs: Sequence[Run] = ()
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    """Of every run, by its id."""
    open: Mapping[str, OpenRun] = field(default_factory=dict)
    """Of every run that is not closed."""
    throttled: Mapping[Held, float] = field(default_factory=dict)
    orphan_quotas: int = 0
    quotas: Mapping[str, int] = field(default_factory=dict)
    """By run, bytes per second at each broker, as last read back."""
    budget: BudgetView | None = None
    """None: the context has no replay budget."""


def run_samples(reading: DatabaseReading, pipelines: Sequence[str]) -> Samples:
    """`pipelines` are the project's: their counters begin at 0 before their first run."""
    yield from _counters(reading, pipelines)
    yield from _of_budget(reading.budget)
    yield MetricSample(metrics.ORPHAN_QUOTAS, reading.orphan_quotas)
    yield from _seen_by_governors(reading)
    for run in reading.runs:
        if run.state not in TERMINAL:
            alive = _is_replaying(run, reading)
            yield MetricSample(metrics.RATE, reading.quotas.get(run.id), (run.id, "quota"))
            yield from _of_run(run, reading.tallies[run.id], reading.open[run.id], reading.at, is_replaying=alive)


def _counters(reading: DatabaseReading, pipelines: Sequence[str]) -> Samples:
    pipeline_of = {run.id: run.pipeline for run in reading.runs}
    throttled: dict[tuple[str, str], float] = defaultdict(float)
    for (run, source), seconds in reading.throttled.items():
        if run in pipeline_of:
            throttled[pipeline_of[run], source] += seconds
    for name in dict.fromkeys((*pipelines, *pipeline_of.values())):
        tallies = [reading.tallies[run] for run, pipeline in pipeline_of.items() if pipeline == name]
        for state in (Outcome.SUCCEEDED.value, Outcome.FAILED.value):
            yield MetricSample(metrics.SLICES, sum(each.slices.get(state, 0) for each in tallies), (name, state))
        for fate in FATES:
            yield MetricSample(metrics.RECORDS, sum(each.account.fates[fate] for each in tallies), (name, fate))
        yield MetricSample(metrics.READ_BYTES, sum(each.bytes for each in tallies), (name,))
        yield MetricSample(metrics.QUARANTINED, sum(each.account.quarantined for each in tallies), (name, "replay"))
        promoted = max((each.promoted_at for each in tallies if each.promoted_at), default=None)
        yield MetricSample(metrics.LAST_SUCCESS, None if promoted is None else promoted.timestamp(), (name,))
    for labels, seconds in throttled.items():
        yield MetricSample(metrics.THROTTLED, seconds, labels)


def _of_budget(view: BudgetView | None) -> Samples:
    if view is not None:
        yield MetricSample(metrics.BUDGET, view.budget.bytes_per_second)
        yield MetricSample(metrics.QUEUE, len(queue_order(view.members, view.at)))


def _seen_by_governors(reading: DatabaseReading) -> Samples:
    """Of two replays of one pipeline, the governor that noted last."""
    replaying = (run for run in reading.runs if run.id in reading.open and _is_replaying(run, reading))
    paces = ((run.pipeline, pace) for run in replaying if (pace := reading.open[run.id].pace) is not None)
    for pipeline, pace in dict(sorted(paces, key=lambda each: each[1].at)).items():
        governor = governor_of(pace)
        yield MetricSample(metrics.LIVE_LAG_SECONDS, governor.get("lag_seconds"), (pipeline,))
        for signal in governor.get("signals", ()):
            if signal["signal"] == "latency":
                yield MetricSample(metrics.LIVE_LATENCY, signal["value"], (pipeline,))


def _is_replaying(run: Run, reading: DatabaseReading) -> bool:
    """Whether a process that is alive replays the run."""
    expires = reading.open[run.id].lease.expires_at
    return run.state is State.REPLAYING and expires is not None and reading.at < expires


def _of_run(run: Run, tally: Tally, now_open: OpenRun, at: datetime, *, is_replaying: bool) -> Samples:
    yield MetricSample(metrics.RUN_INFO, 1, (run.id, run.pipeline, run.target.table))
    yield MetricSample(metrics.RUN_STATE, 1, (run.id, run.state.value))
    yield MetricSample(metrics.RUN_PROGRESS, tally.staged / tally.planned if tally.planned else None, (run.id,))
    yield MetricSample(metrics.COST_RATIO, now_open.cost_ratio, (run.id,))
    expires = now_open.lease.expires_at
    yield MetricSample(metrics.RUN_LEASE, None if expires is None else expires.timestamp(), (run.id,))
    for bound, ratio in now_open.impact.items():
        yield MetricSample(metrics.IMPACT, ratio, (run.id, bound))
    if is_replaying:
        yield from _of_replay(run.id, tally, now_open, at)


def _of_replay(run: str, tally: Tally, now_open: OpenRun, at: datetime) -> Samples:
    """Of a replay whose process is alive."""
    allowed = None if now_open.pace is None else now_open.pace.details.get("bytes_per_second")
    yield MetricSample(metrics.RATE, allowed, (run, "allowed"))
    yield MetricSample(metrics.HEADROOM, headroom(now_open.retention, at), (run,))
    for signal in () if now_open.pace is None else governor_of(now_open.pace).get("signals", ()):
        yield MetricSample(metrics.PRESSURE, signal["pressure"], (run, signal["signal"]))
    for name, age in now_open.signal_ages.items():
        yield MetricSample(metrics.SIGNAL_AGE, age, (run, name))
    recent = tally.recent
    if recent is None or at <= recent.since:
        return
    elapsed = (at - recent.since).total_seconds()
    yield MetricSample(metrics.RATE, recent.bytes / elapsed, (run, "actual"))
    if recent.offsets and tally.planned > tally.staged:
        yield MetricSample(metrics.RUN_ETA, (tally.planned - tally.staged) * elapsed / recent.offsets, (run,))
