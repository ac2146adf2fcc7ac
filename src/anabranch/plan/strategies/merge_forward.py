"""Plans a replay of all that came after a state of the table, for the classes whose table is a state by key. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.plan.assembly import assemble
from anabranch.plan.live_position import live_position, require_position
from anabranch.plan.offsets.completeness import Proof, Reading, moments_of, reading_of
from anabranch.plan.offsets.ranges import EndsBy, timestamp_bounds
from anabranch.plan.offsets.zones import ZoneMap
from anabranch.plan.plan import Plan
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.preconditions import RetentionPassedError, check_partitions, check_target
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.plan.slices import Ranges, cut, slice_size
from anabranch.plan.strategies.start_snapshots import StartSnapshot, TableSnapshot, last_good
from anabranch.plan.strategies.strategy import Strategy
from anabranch.runs.heads import Head


class CompactedOrderError(PlanRefusedError):
    code = "plan.compacted-order"


class StartSnapshotUnknownError(PlanRefusedError):
    code = "plan.state-unknown"


class UndamagedError(PlanRefusedError):
    code = "plan.undamaged"


def plan_forward(
    request: BackfillRequest,
    code: str,
    source: SourceFacts,
    target: TargetFacts,
    zones: ZoneMap,
    *,
    offsets_per_slice: int | None,
) -> tuple[Plan, dict[int, Reading]]:
    """The plan, and what is read of each partition; or the first reason why there can be none."""
    base = check_target(request, target)
    check_partitions(request, source)
    _require_uncompacted(request, source)
    position = live_position(request, source, target)
    require_position(request, target, position, source.partitions)
    # Without a live writer, every record of the topic is this replay's to write.
    live = position.known or {number: facts.latest for number, facts in sorted(source.partitions.items())}
    damaged = damage_of(request, source, target, live, zones)
    start = _start(request, source, target, {number: _first(each, live[number]) for number, each in damaged.items()})
    ranges = {number: ((first, end),) for number, (first, end) in _after(start, live).items() if first < end}
    _require_kept(request, source, ranges, start)
    if not ranges:
        raise UndamagedError(
            f"Live has not yet written any event of the range to {target.table}: there is nothing to correct.",
            hint="correct the transform and restart live: it writes these events by the new code",
        )
    readings = {
        number: replace(
            each,
            ranges=ranges.get(number, ()),
            by=EndsBy.LIVE,
            proof=Proof.WHOLE if start.snapshot is None else each.proof,
        )
        for number, each in damaged.items()
    }
    slices = cut(ranges, offsets_per_slice or slice_size(ranges))
    plan = assemble(
        request, code, source, target, base=base, live=position.known, readings=readings, slices=slices, state=start
    )
    return plan, readings


def damage_of(
    request: BackfillRequest, source: SourceFacts, target: TargetFacts, live: Mapping[int, int], zones: ZoneMap
) -> dict[int, Reading]:
    """Which offsets of each partition may hold an event of the range. What live has not written is none."""
    window = timestamp_bounds(target.partitions, request.slack, everything=request.everything)
    moments = moments_of(target.partitions)
    return {
        number: reading_of(facts, window, request.slack, live[number], zones.partitions.get(number), moments)
        for number, facts in source.partitions.items()
    }


def _first(damage: Reading, live: int) -> int:
    return min(damage.ranges[0][0], live) if damage.ranges else live


def _after(start: StartSnapshot, live: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    return {number: (start.position.get(number, 0), end) for number, end in live.items()}


def _start(
    request: BackfillRequest, source: SourceFacts, target: TargetFacts, damage: Mapping[int, int]
) -> StartSnapshot:
    wanted = request.backfill.spec.range.since_snapshot
    if wanted is not None:
        found = next(
            (each for each in target.states if each.snapshot == Head(str(wanted)) and each.topic == source.uuid), None
        )
        if found is None:
            raise StartSnapshotUnknownError(
                f"Snapshot {wanted} of {target.table} is not a state that a replay can start from.",
                command=f"anabranch checkpoints {request.pipeline.metadata.name}",
                snapshot=wanted,
            )
        return _of(found)
    # A key that was deleted since may have lost its tombstone to compaction: in a former state it would live for
    # ever. Read whole, a compacted topic is itself the state.
    good = None if request.everything or source.compacted else last_good(target.states, source.uuid, damage)
    return StartSnapshot(None, {}) if good is None else _of(good)


def _of(state: TableSnapshot) -> StartSnapshot:
    return StartSnapshot(state.snapshot, dict(state.position))


def _require_uncompacted(request: BackfillRequest, source: SourceFacts) -> None:
    if request.strategy is Strategy.RERUN_TAIL and source.compacted:
        raise CompactedOrderError(
            f"{source.topic} is compacted: events that a later one of the same key has replaced are gone, "
            f"and the rows of {request.pipeline.metadata.name} depend on every one of them.",
            hint="replay from an archive of the topic, or give the pipeline a topic that is not compacted",
            topic=source.topic,
        )


def _require_kept(request: BackfillRequest, source: SourceFacts, ranges: Ranges, start: StartSnapshot) -> None:
    lost = {
        number: (first, source.partitions[number].earliest)
        for number, ((first, end),) in sorted(ranges.items())
        if first < min(end, source.partitions[number].earliest)
    }
    if not lost:
        return
    number, (first, kept) = next(iter(lost.items()))
    since = "the beginning, as no state before the range is kept" if start.snapshot is None else "the last good state"
    raise RetentionPassedError(
        f"The replay has to start at {since}, and {source.topic} has lost offsets {first} to {kept - 1} of partition "
        f"{number} since.",
        hint=f"restore the records from an archive; or see `anabranch checkpoints {request.pipeline.metadata.name}` "
        "for the states that are kept, and write a later `from`",
        topic=source.topic,
        missing={str(each): list(span) for each, span in lost.items()},
    )
