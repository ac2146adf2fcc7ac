"""Whether a backfill fits its schedule: the duration of each part, by the rehearsal's measurements. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from anabranch.contract.backfill import Hours, Schedule
from anabranch.contract.pipeline import Live
from anabranch.plan.forecast.deadline import OnMiss
from anabranch.plan.forecast.estimates import PlanWarning
from anabranch.plan.forecast.hours import end_of_work
from anabranch.plan.forecast.rehearsed import Rehearsed, variants_of
from anabranch.plan.plan import Plan
from anabranch.plan.target_range import FAR_AHEAD, PartitionRange
from anabranch.project.quantities import format_duration, format_moment

LEAST_MULTIPLE = 10
"""Minimum speed of a replay in multiples of real time; a slower one hardly catches up."""
A_YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Forecast:
    """Durations and end of a backfill, by the last rehearsal."""

    begin: datetime
    replay: timedelta
    validate: timedelta
    promote: timedelta
    catch_up: timedelta
    """Replaying records that arrive during the backfill, where they belong to the range."""
    rollback: timedelta
    """Duration of a rollback; not part of the total."""
    deadline: datetime | None
    on_miss: OnMiss | None
    multiple: float | None
    """Speed in multiples of real time. None: the range has no two ends."""
    headroom: float | None
    """Replay rate over arrival rate; None: no record arrived."""
    cautions: tuple[PlanWarning, ...] = ()
    hours: Hours | None = None

    @property
    def total(self) -> timedelta:
        return self.replay + self.validate + self.catch_up + self.promote

    @property
    def finish(self) -> datetime:
        """Slices begin only within the contract's hours, validation and promotion at any time."""
        return end_of_work(self.hours, self.begin, self.replay + self.catch_up) + self.validate + self.promote

    @property
    def in_time(self) -> bool:
        return self.deadline is None or self.finish <= self.deadline

    def document(self) -> dict[str, Any]:
        parts = ("replay", "validate", "catch_up", "promote", "total", "rollback")
        return {
            "begin": format_moment(self.begin),
            **{f"{part}_seconds": round(getattr(self, part).total_seconds(), 3) for part in parts},
            "finish": format_moment(self.finish),
            "deadline": None if self.deadline is None else format_moment(self.deadline),
            "in_time": self.in_time,
            "on_miss": self.on_miss,
            "multiple_of_real_time": None if self.multiple is None else round(self.multiple, 1),
            "live_headroom": None if self.headroom is None else round(self.headroom, 1),
            "cautions": [{"code": each.code, "words": each.words} for each in self.cautions],
        }


def forecast(
    plan: Plan,
    rehearsed: Rehearsed,
    schedule: Schedule | None,
    limits: Live,
    bytes_per_second: int | None,
    now: datetime,
) -> Forecast:
    replay = variants_of(plan) * rehearsed.replay_seconds(plan.slices, bytes_per_second)
    validate = plan.target.rows / 1e6 * rehearsed.validate_seconds_per_million_rows
    rate = sum(each.width for each in plan.slices) / replay if replay else 0.0
    arrivals = rehearsed.arrivals_per_second
    catch_up = _catch_up(plan, replay + validate, arrivals, rate, now)
    deadline = None if schedule is None else schedule.deadline
    span = _span(plan, now)
    forecast_ = Forecast(
        begin=now if schedule is None else max(now, schedule.start_after or now),
        replay=timedelta(seconds=replay),
        validate=timedelta(seconds=validate),
        promote=timedelta(seconds=rehearsed.promote_seconds),
        catch_up=timedelta(seconds=min(catch_up, A_YEAR.total_seconds())),
        rollback=timedelta(seconds=rehearsed.rollback_seconds),
        deadline=deadline,
        on_miss=schedule.on_miss if schedule is not None and deadline is not None else None,
        multiple=None if span is None or not replay else span.total_seconds() / replay,
        headroom=rate / arrivals if arrivals else None,
        hours=None if schedule is None else schedule.hours,
    )
    return _with_cautions(forecast_, rehearsed, limits)


def _catch_up(plan: Plan, seconds: float, arrivals: float, rate: float, now: datetime) -> float:
    """Seconds to replay records that arrive meanwhile; 0 for a range in the past."""
    part = plan.target.partitions
    if not arrivals or (isinstance(part, PartitionRange) and part.end <= now):
        return 0.0
    if arrivals >= rate:
        return float("inf")
    return seconds * arrivals / (rate - arrivals)


def _span(plan: Plan, now: datetime) -> timedelta | None:
    part, start = plan.target.partitions, plan.target.requested_start
    if isinstance(part, PartitionRange):
        return None if part.end >= FAR_AHEAD else min(part.end, max(now, part.start)) - part.start
    return None if start is None or start >= now else now - start


def _with_cautions(forecast_: Forecast, rehearsed: Rehearsed, limits: Live) -> Forecast:
    return replace(forecast_, cautions=tuple(_cautions(forecast_, rehearsed, limits)))


def _cautions(forecast_: Forecast, rehearsed: Rehearsed, limits: Live) -> Iterator[PlanWarning]:
    if forecast_.deadline is not None and not forecast_.in_time:
        yield PlanWarning(
            "deadline-missed",
            f"the backfill ends about {format_moment(forecast_.finish)}, after the deadline "
            f"{format_moment(forecast_.deadline)}: onMiss `{forecast_.on_miss}` then applies",
        )
    if forecast_.multiple is not None and forecast_.multiple < LEAST_MULTIPLE:
        yield PlanWarning(
            "slow-replay",
            f"the replay runs at {forecast_.multiple:.1f} times real time, below the recommended {LEAST_MULTIPLE}: "
            f"most of its time is spent in {rehearsed.bottleneck}",
        )
    if forecast_.headroom is not None and forecast_.headroom <= 1:
        yield PlanWarning("never-caught-up", "records arrive faster than they are replayed")
    lag, latency = rehearsed.live_lag_with, rehearsed.live_latency_with
    if limits.max_lag_records is not None and lag is not None and lag > limits.max_lag_records:
        yield PlanWarning(
            "live-lag",
            f"live lagged by {lag:,} records during the rehearsal, above live.maxLagRecords {limits.max_lag_records:,}",
        )
    if limits.max_latency is not None and latency is not None and latency > limits.max_latency.total_seconds():
        yield PlanWarning(
            "live-latency",
            f"live took {latency:.0f} s per event during the rehearsal, above live.maxLatency "
            f"{format_duration(limits.max_latency)}",
        )
