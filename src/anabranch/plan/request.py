"""The request of a contract, and refusals that need no measurement of topic or table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.contract.backfill import Backfill, Control
from anabranch.contract.pipeline import Pipeline
from anabranch.contract.ranges import Range
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.strategies.strategy import Strategy, choose_strategy
from anabranch.plan.target_range import FAR_AHEAD
from anabranch.project.model import as_plain
from anabranch.project.quantities import format_moment
from anabranch.runs.canonical import canonical


class RangeNotByEventTimeError(PlanRefusedError):
    code = "plan.range-not-by-event-time"


class RangeInTheFutureError(PlanRefusedError):
    code = "plan.range-in-the-future"


class DeadlinePassedError(PlanRefusedError):
    code = "plan.deadline-passed"


class SessionsByStreamError(PlanRefusedError):
    code = "plan.sessions-by-stream"


@dataclass(frozen=True)
class BackfillRequest:
    """A contract that can be planned. No start: everything. No end: up to live's position."""

    backfill: Backfill
    pipeline: Pipeline
    strategy: Strategy
    start: datetime | None
    end: datetime | None

    @property
    def everything(self) -> bool:
        return self.start is None

    @property
    def slack(self) -> timedelta:
        return self.pipeline.spec.event_time.slack

    @property
    def no_live_writer(self) -> bool:
        """Whether the contract says that no other writer commits to the target."""
        return self.backfill.spec.live == "none"

    @property
    def contract(self) -> dict[str, Any]:
        """The contract as plain JSON values."""
        return as_plain(self.backfill)


def with_control(backfill: Backfill, *, wanted: bool) -> Backfill:
    """The contract with a control, if the command asks for one: so that the recorded contract has it."""
    if not wanted or backfill.spec.control is not None:
        return backfill
    return backfill.model_copy(update={"spec": backfill.spec.model_copy(update={"control": Control()})})


def contract_hash(contract: dict[str, Any]) -> str:
    """SHA-256 of the parsed contract: comments and the order of keys make no difference."""
    return hashlib.sha256(canonical(contract).encode()).hexdigest()


def resolve_request(backfill: Backfill, pipeline: Pipeline, now: datetime) -> BackfillRequest:
    """The request. Raises PlanRefusedError if the contract can't be planned."""
    spec = backfill.spec
    strategy = choose_strategy(pipeline.metadata.name, pipeline.spec.pipeline_class, spec.range, spec.strategy)
    _require_fixed_windows(pipeline, strategy)
    start, end = _span(backfill.spec.range, strategy)
    if start is not None and start >= now:
        raise RangeInTheFutureError(
            f"The range begins in the future, at {format_moment(start)}; now is {format_moment(now)}.",
            hint="write a range in the past under spec.range.eventTime",
        )
    if end is not None and end > FAR_AHEAD:
        raise RangeInTheFutureError(
            f"The range ends at {format_moment(end)}, after the last supported moment {format_moment(FAR_AHEAD)}.",
            hint="write an earlier `to` under spec.range.eventTime",
        )
    schedule = backfill.spec.schedule
    if schedule is not None and schedule.deadline is not None and schedule.deadline <= now:
        raise DeadlinePassedError(
            f"The deadline {format_moment(schedule.deadline)} has passed; now is {format_moment(now)}.",
            hint="write a later spec.schedule.deadline, or remove it",
        )
    return BackfillRequest(backfill, pipeline, strategy, start, end)


def _require_fixed_windows(pipeline: Pipeline, strategy: Strategy) -> None:
    window = pipeline.spec.window
    if strategy is Strategy.STREAM and window is not None and window.size is None:
        raise SessionsByStreamError(
            f"Pipeline {pipeline.metadata.name} has session windows, and live's commits do not record when the last "
            "session of a range has ended: a stream-faithful replay would have no end.",
            hint="write strategy: batch-exact in the contract, or remove strategy",
            pipeline=pipeline.metadata.name,
        )


def _span(request: Range, strategy: Strategy) -> tuple[datetime | None, datetime | None]:
    if request.event_time is not None:
        return request.event_time.start, request.event_time.end
    if request.everything or (request.since_snapshot is not None and strategy.whole_table):
        return None, None
    if strategy.whole_table:
        raise RangeNotByEventTimeError(
            f"{strategy.value} requires range.eventTime.from, range.sinceSnapshot or range.everything: the target is "
            "replayed from its last snapshot before the range up to live's position.",
            hint="write range: {eventTime: {from: …}}, or {sinceSnapshot: …}, or {everything: true}",
        )
    if request.timestamps is not None:
        start, end = (format_moment(moment) for moment in (request.timestamps.start, request.timestamps.end))
        raise _not_by_event_time("timestamps", f"range: {{eventTime: {{from: {start}, to: {end}}}}}")
    way = "offsets" if request.offsets is not None else "sinceSnapshot"
    raise _not_by_event_time(way, "range: {eventTime: {from: …, to: …}} around the wrong events")


def _not_by_event_time(way: str, write: str) -> RangeNotByEventTimeError:
    return RangeNotByEventTimeError(
        f"The target is replaced in whole partitions of event time, and a range by {way} contains only some events "
        "of a partition: the rows of the others would be lost.",
        hint=f"write {write}, or range: {{everything: true}}",
        way=way,
    )
