"""Makes the plan from the contract, the code and what was measured. Pure: the same facts give the same plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from anabranch.plan.asked import Asked, contract_hash
from anabranch.plan.checks import checks_of
from anabranch.plan.facts import Lookups, SourceFacts, TargetFacts
from anabranch.plan.judgement import judge_partitions, judge_retention, judge_target, live_position
from anabranch.plan.offsets import Reach, lookups, reach
from anabranch.plan.outlook import Outlook, look_ahead
from anabranch.plan.plan import Plan, Source, Target
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.slices import Offsets, Slice, cut, slice_size
from anabranch.plan.windows import Piece, reading, require_closed, split, window_slices
from anabranch.project.quantities import format_moment


class EmptyRangeError(PlanRefusedError):
    code = "plan.empty-range"


@dataclass(frozen=True)
class Planned:
    """A plan, and how things look for it at this moment."""

    asked: Asked
    plan: Plan
    outlook: Outlook


def make_plan(
    asked: Asked,
    code: str,
    source: SourceFacts,
    target: TargetFacts,
    *,
    now: datetime,
    offsets_per_slice: int | None = None,
    look: Callable[[Lookups], SourceFacts] | None = None,
) -> Planned:
    """The plan, or the first reason why there can be none.

    `look` measures the topic for a part of the range, since slices of windows are cut by time and not by offsets.
    The target must have been measured before the source: live's position is then never beyond the log's end.
    """
    base = judge_target(asked, target)
    judge_partitions(asked, source)
    live = live_position(source, target)
    wanted = require_closed(asked, target)
    window = lookups(wanted or target.partitions, asked.slack, everything=asked.everything)
    judge_retention(asked, source, target, window, live)
    reaches = {
        number: reach(facts, window, asked.slack, live.get(number))
        for number, facts in sorted(source.partitions.items())
    }
    ranges = {number: (each.start, each.end) for number, each in reaches.items() if each.start < each.end}
    if not ranges:
        raise _empty(source, target, reaches, live)
    plan = Plan(
        pipeline=asked.pipeline.metadata.name,
        contract=contract_hash(asked.contract),
        code=code,
        source=Source(
            topic=source.topic,
            uuid=source.uuid,
            partitions=len(source.partitions),
            ranges=ranges,
            live=live,
            compacted=source.compacted,
        ),
        target=_target(asked, target, base),
        slices=_slices(asked, target, source, ranges, live, offsets_per_slice or slice_size(ranges), look),
        reading=wanted,
        checks=checks_of(asked.backfill, asked.pipeline),
    )
    return Planned(asked, plan, look_ahead(asked, source, target, reaches, now))


def _slices(
    asked: Asked,
    target: TargetFacts,
    source: SourceFacts,
    ranges: Offsets,
    live: Mapping[int, int],
    size: int,
    look: Callable[[Lookups], SourceFacts] | None,
) -> tuple[Slice, ...]:
    window = asked.pipeline.spec.window
    if window is None:
        return cut(ranges, size)
    parts = [target.partitions] if look is None else split(target.partitions, len(cut(ranges, size)))
    pieces = [
        Piece(part, source if look is None else look(lookups(reading(window, part), asked.slack, everything=False)))
        for part in parts
    ]
    return window_slices(asked, pieces, ranges, live)


def _target(asked: Asked, facts: TargetFacts, base: int) -> Target:
    return Target(
        table=facts.table,
        base=base,
        schema=facts.schema,
        partitions=facts.partitions,
        asked_start=asked.start,
        asked_end=asked.end,
        files=facts.files,
        rows=facts.rows,
    )


def _empty(
    source: SourceFacts, target: TargetFacts, reaches: Mapping[int, Reach], live: Mapping[int, int]
) -> EmptyRangeError:
    start, end = (format_moment(moment) for moment in (target.partitions.start, target.partitions.end))
    unwritten = any(facts.latest > reaches[number].start for number, facts in source.partitions.items())
    if live and unwritten:
        return EmptyRangeError(
            f"Live has not yet written any event of {start} to {end} to {target.table}: there is nothing to correct.",
            next_step="correct the transform and restart live: it writes these events by the new code",
        )
    return EmptyRangeError(
        f"No record of {source.topic} can hold an event from {start} to {end}.",
        next_step="check spec.range in the contract, and the topic and eventTime.slack in the pipeline",
        topic=source.topic,
    )
