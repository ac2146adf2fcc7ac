"""Makes the plan from contract, code and measurements. Pure: the same facts give the same plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from anabranch.plan.assembly import assemble, ranges_read
from anabranch.plan.forecast.estimates import Estimates, estimate_plan
from anabranch.plan.live_position import live_position, partitions_read, require_position
from anabranch.plan.offsets.completeness import Reading, moments_of, reading_of
from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.offsets.zones import NO_MAP, ZoneMap
from anabranch.plan.plan import Plan
from anabranch.plan.ports import SourceFacts, TargetFacts, TimestampBounds
from anabranch.plan.preconditions import check_partitions, check_retention, check_target
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.plan.retention.decision import RaceDecision
from anabranch.plan.slices import cut, slice_size
from anabranch.plan.strategies.event_windows import cut_windows, require_closed
from anabranch.plan.strategies.merge_forward import plan_forward
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.strategies.stream_faithful import plan_stream
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.plan.target_range import PartitionRange, WholeTable
from anabranch.project.quantities import format_moment


class EmptyRangeError(PlanRefusedError):
    code = "plan.empty-range"


@dataclass(frozen=True)
class Planned:
    """A plan, and the estimates for it at this moment."""

    request: BackfillRequest
    plan: Plan
    estimates: Estimates
    race: RaceDecision | None = None
    """Against retention; None: not measured."""


def make_plan(
    request: BackfillRequest,
    code: str,
    source: SourceFacts,
    target: TargetFacts,
    *,
    now: datetime,
    zones: ZoneMap = NO_MAP,
    offsets_per_slice: int | None = None,
    checkpoints: Iterable[StreamCheckpoint] = (),
    measure: Callable[[TimestampBounds], SourceFacts] | None = None,
) -> Planned:
    """The plan. Raises PlanRefusedError for the first reason that forbids it.

    `measure` measures the topic for a part of the range, since slices of windows are cut by time and not by offsets.
    `checkpoints` are live's stored checkpoints, newest first.
    The target must have been measured before the source: live's position is then never beyond the log's end.
    """
    if isinstance(target.partitions, WholeTable):
        forward, read = plan_forward(request, code, source, target, zones, offsets_per_slice=offsets_per_slice)
        return Planned(request, forward, estimate_plan(request, source, target, read, zones, now))
    base = check_target(request, target)
    check_partitions(request, source)
    position = live_position(request, source, target)
    live = position.known
    span = require_closed(request, target)
    window = timestamp_bounds(span or target.partitions, request.slack, everything=request.everything)
    check_retention(request, source, target.partitions, window, live, zones, span or target.partitions)
    moments = moments_of(span or target.partitions)
    readings = {
        number: reading_of(facts, window, request.slack, live.get(number), zones.partitions.get(number), moments)
        for number, facts in sorted(source.partitions.items())
    }
    require_position(request, target, position, partitions_read(readings))
    ranges = ranges_read(readings)
    if not ranges:
        raise _empty(source, target, target.partitions, readings, live)
    if request.strategy is Strategy.STREAM and span is not None:
        faithful, read = plan_stream(
            request,
            code,
            source,
            target,
            base=base,
            live=live,
            readings=readings,
            span=span,
            checkpoints=checkpoints,
            offsets_per_slice=offsets_per_slice,
        )
        return Planned(request, faithful, estimate_plan(request, source, target, read, zones, now))
    size = offsets_per_slice or slice_size(ranges)
    plan = assemble(
        request,
        code,
        source,
        target,
        base=base,
        live=live,
        readings=readings,
        slices=cut(ranges, size)
        if span is None
        else cut_windows(request, source, target.partitions, readings, live, zones, size, measure),
        reading=span,
    )
    return Planned(request, plan, estimate_plan(request, source, target, readings, zones, now))


def _empty(
    source: SourceFacts,
    target: TargetFacts,
    partitions: PartitionRange,
    readings: Mapping[int, Reading],
    live: Mapping[int, int],
) -> EmptyRangeError:
    start, end = (format_moment(moment) for moment in (partitions.start, partitions.end))
    if live and any(each.possible for each in readings.values()):
        return EmptyRangeError(
            f"Nothing to correct: live has not yet written any event from {start} to {end} to {target.table}.",
            hint="correct the transform and restart live, which then writes these events with the new code",
        )
    return EmptyRangeError(
        f"{source.topic} has no event from {start} to {end}.",
        hint="check spec.range in the contract, and the topic and eventTime.slack in the pipeline",
        topic=source.topic,
    )
