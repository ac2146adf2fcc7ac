"""Plans a replay of all records after a snapshot of the table, for the classes with rows by key. Pure."""

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
    """The plan, and what is read of each partition. Raises PlanRefusedError for the first reason that forbids it."""
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
            f"Nothing to correct: live has not yet written any event of the range to {target.table}.",
            hint="correct the transform and restart live, which then writes these events with the new code",
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
    """The offsets of each partition, up to live's position, that may contain an event of the range."""
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
        requested = next(
            (each for each in target.states if each.snapshot == wanted and each.topic == source.uuid), None
        )
        if requested is None:
            raise StartSnapshotUnknownError(
                f"Snapshot {wanted} of {target.table} can't be the start of a replay: live did not write it, or it "
                "has expired.",
                command=f"anabranch checkpoints {request.pipeline.metadata.name}",
                snapshot=wanted,
            )
        return _of(requested)
    # Compaction may have removed the tombstone of a key deleted since, so a replay from a former snapshot would keep
    # that key for ever. Read whole, a compacted topic is itself the state.
    good = None if request.everything or source.compacted else last_good(target.states, source.uuid, damage)
    return StartSnapshot(None, {}) if good is None else _of(good)


def _of(state: TableSnapshot) -> StartSnapshot:
    return StartSnapshot(state.snapshot, dict(state.position))


def _require_uncompacted(request: BackfillRequest, source: SourceFacts) -> None:
    if request.strategy is Strategy.RERUN_TAIL and source.compacted:
        raise CompactedOrderError(
            f"{source.topic} is compacted: events replaced by a later one of the same key are deleted, "
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
    number, (first, earliest) = next(iter(lost.items()))
    since = (
        "the beginning, since no snapshot before the range is retained"
        if start.snapshot is None
        else f"snapshot {start.snapshot}"
    )
    raise RetentionPassedError(
        f"The replay must start at {since}, and {source.topic} has lost offsets {first} to {earliest - 1} of partition "
        f"{number} after it.",
        command=f"anabranch checkpoints {request.pipeline.metadata.name}",
        hint="restore the records from an archive, or list the retained snapshots and write a later `from`",
        topic=source.topic,
        missing={str(each): list(span) for each, span in lost.items()},
    )
