"""Whether a backfill fits its schedule: how long each part takes, by what a rehearsal has measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from anabranch.contract.backfill import Schedule
from anabranch.contract.pipeline import Live
from anabranch.plan.forecast.deadline import OnMiss
from anabranch.plan.forecast.estimates import PlanWarning
from anabranch.plan.forecast.rehearsed import Rehearsed, lanes_of
from anabranch.plan.plan import Plan
from anabranch.plan.target_range import FAR_AHEAD, PartitionRange
from anabranch.project.quantities import format_duration, format_moment

LEAST_MULTIPLE = 10
"""A replay should be so many times faster than the time that it replays, or it hardly ever catches up."""
A_YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Forecast:
    """By what was rehearsed."""

    begin: datetime
    replay: timedelta
    validate: timedelta
    promote: timedelta
    catch_up: timedelta
    """Replaying what comes meanwhile, where that has to be replayed too."""
    rollback: timedelta
    """The way back, should it be needed; not part of the total."""
    deadline: datetime | None
    on_miss: OnMiss | None
    multiple: float | None
    """Of real time: so much faster than it took to happen. None: the range has no two ends."""
    headroom: float | None
    """How many times faster the replay reads than records come in; None: none came."""
    cautions: tuple[PlanWarning, ...] = ()

    @property
    def total(self) -> timedelta:
        return self.replay + self.validate + self.catch_up + self.promote

    @property
    def finish(self) -> datetime:
        return self.begin + self.total

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
    replay = lanes_of(plan) * rehearsed.replay_seconds(plan.slices, bytes_per_second)
    validate = plan.target.rows / 1e6 * rehearsed.validate_seconds_per_million_rows
    rate = sum(each.width for each in plan.slices) / replay if replay else 0.0
    arrivals = rehearsed.arrivals_per_second
    catch_up = _catch_up(plan, replay + validate, arrivals, rate, now)
    deadline = None if schedule is None else schedule.deadline
    span = _span(plan, now)
    found = Forecast(
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
    )
    return _with_cautions(found, rehearsed, limits)


def _catch_up(plan: Plan, seconds: float, arrivals: float, rate: float, now: datetime) -> float:
    """What comes while the rest goes on, and while that is caught up with. Nothing into a range that is over."""
    part = plan.target.partitions
    if not arrivals or (isinstance(part, PartitionRange) and part.end <= now):
        return 0.0
    if arrivals >= rate:
        return float("inf")
    return seconds * arrivals / (rate - arrivals)


def _span(plan: Plan, now: datetime) -> timedelta | None:
    part, asked = plan.target.partitions, plan.target.asked_start
    if isinstance(part, PartitionRange):
        return None if part.end >= FAR_AHEAD else min(part.end, max(now, part.start)) - part.start
    return None if asked is None or asked >= now else now - asked


def _with_cautions(found: Forecast, rehearsed: Rehearsed, limits: Live) -> Forecast:
    return replace(found, cautions=tuple(_cautions(found, rehearsed, limits)))


def _cautions(found: Forecast, rehearsed: Rehearsed, limits: Live) -> Iterator[PlanWarning]:
    if found.deadline is not None and not found.in_time:
        yield PlanWarning(
            "deadline-missed",
            f"it ends about {format_moment(found.finish)}, after the deadline {format_moment(found.deadline)}: "
            f"then `{found.on_miss}` is carried out",
        )
    if found.multiple is not None and found.multiple < LEAST_MULTIPLE:
        yield PlanWarning(
            "slow-replay",
            f"the replay is only {found.multiple:.1f} times as fast as real time, and should be {LEAST_MULTIPLE}: "
            f"{rehearsed.bottleneck} takes most of it",
        )
    if found.headroom is not None and found.headroom <= 1:
        yield PlanWarning("never-caught-up", "records come in faster than they are replayed")
    lag, latency = rehearsed.live_lag_with, rehearsed.live_latency_with
    if limits.max_lag_records is not None and lag is not None and lag > limits.max_lag_records:
        yield PlanWarning(
            "live-lag", f"live was {lag:,} records behind beside the replay, and may be {limits.max_lag_records:,}"
        )
    if limits.max_latency is not None and latency is not None and latency > limits.max_latency.total_seconds():
        yield PlanWarning(
            "live-latency", f"an event took live {latency:.0f} s, and may take {format_duration(limits.max_latency)}"
        )
