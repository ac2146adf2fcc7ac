"""Plans a replay of all that came after a state of the table, for the classes whose table is a state by key. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.plan.asked import Asked, contract_hash
from anabranch.plan.checks import checks_of
from anabranch.plan.facts import SourceFacts, TargetFacts
from anabranch.plan.judgement import RetentionPassedError, judge_partitions, judge_target, live_position
from anabranch.plan.offsets import EndsBy, Reach, lookups, reach
from anabranch.plan.plan import Plan, Source, Target
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.slices import cut, slice_size
from anabranch.plan.states import StartState, State, last_good
from anabranch.plan.strategy import Strategy


class NoLiveCommitError(PlanRefusedError):
    code = "plan.no-live-commit"


class CompactedOrderError(PlanRefusedError):
    code = "plan.compacted-order"


class StateUnknownError(PlanRefusedError):
    code = "plan.state-unknown"


class UndamagedError(PlanRefusedError):
    code = "plan.undamaged"


def plan_forward(
    asked: Asked, code: str, source: SourceFacts, target: TargetFacts, *, offsets_per_slice: int | None
) -> tuple[Plan, dict[int, Reach]]:
    """The plan, and how far each partition is read; or the first reason why there can be none."""
    base = judge_target(asked, target)
    judge_partitions(asked, source)
    _judge_compaction(asked, source)
    live = live_position(source, target)
    if not live:
        raise NoLiveCommitError(
            f"No commit of {target.table} says which offsets it holds, so nobody can say what came after what.",
            next_step=f"`anabranch live start {asked.pipeline.metadata.name}` writes it from the topic",
            table=target.table,
        )
    start = _start(asked, source, target, damage_of(asked, source, target, live))
    reaches = {number: Reach(min(start.position.get(number, 0), end), end, EndsBy.LIVE) for number, end in live.items()}
    _require_kept(asked, source, reaches, start)
    ranges = {number: (each.start, each.end) for number, each in reaches.items() if each.start < each.end}
    if not ranges:
        raise UndamagedError(
            f"Live has not yet written any event of the range to {target.table}: there is nothing to correct.",
            next_step="correct the transform and restart live: it writes these events by the new code",
        )
    plan = Plan(
        pipeline=asked.pipeline.metadata.name,
        contract=contract_hash(asked.contract),
        code=code,
        source=Source(source.topic, source.uuid, len(source.partitions), ranges, live, compacted=source.compacted),
        target=Target(
            table=target.table,
            base=base,
            schema=target.schema,
            partitions=target.partitions,
            asked_start=asked.start,
            asked_end=asked.end,
            files=target.files,
            rows=target.rows,
        ),
        slices=cut(ranges, offsets_per_slice or slice_size(ranges)),
        checks=checks_of(asked.backfill, asked.pipeline),
        strategy=asked.strategy,
        state=start,
    )
    return plan, reaches


def damage_of(asked: Asked, source: SourceFacts, target: TargetFacts, live: Mapping[int, int]) -> dict[int, int]:
    """The first offset of each partition that may hold an event of the range. What live has not written is none."""
    window = lookups(target.partitions, asked.slack, everything=asked.everything)
    return {
        number: min(live[number], reach(facts, window, asked.slack, live[number]).start)
        for number, facts in source.partitions.items()
    }


def _start(asked: Asked, source: SourceFacts, target: TargetFacts, damage: Mapping[int, int]) -> StartState:
    wanted = asked.backfill.spec.range.since_snapshot
    if wanted is not None:
        found = next((each for each in target.states if each.snapshot == wanted and each.topic == source.uuid), None)
        if found is None:
            raise StateUnknownError(
                f"Snapshot {wanted} of {target.table} is not a state that a replay can start from.",
                next_step=f"anabranch checkpoints {asked.pipeline.metadata.name} lists those that are",
                snapshot=wanted,
            )
        return _of(found)
    # A key that was deleted since may have lost its tombstone to compaction: in a former state it would live for
    # ever. Read whole, a compacted topic is itself the state.
    good = None if asked.everything or source.compacted else last_good(target.states, source.uuid, damage)
    return StartState(None, {}) if good is None else _of(good)


def _of(state: State) -> StartState:
    return StartState(state.snapshot, dict(state.position))


def _judge_compaction(asked: Asked, source: SourceFacts) -> None:
    if asked.strategy is Strategy.RERUN_TAIL and source.compacted:
        raise CompactedOrderError(
            f"{source.topic} is compacted: events that a later one of the same key has replaced are gone, "
            f"and the rows of {asked.pipeline.metadata.name} depend on every one of them.",
            next_step="replay from an archive of the topic, or give the pipeline a topic that is not compacted",
            topic=source.topic,
        )


def _require_kept(asked: Asked, source: SourceFacts, reaches: Mapping[int, Reach], start: StartState) -> None:
    lost = {
        number: (each.start, source.partitions[number].earliest)
        for number, each in sorted(reaches.items())
        if each.start < min(each.end, source.partitions[number].earliest)
    }
    if not lost:
        return
    number, (first, kept) = next(iter(lost.items()))
    since = "the beginning, as no state before the range is kept" if start.snapshot is None else "the last good state"
    raise RetentionPassedError(
        f"The replay has to start at {since}, and {source.topic} has lost offsets {first} to {kept - 1} of partition "
        f"{number} since.",
        next_step=f"restore the records from an archive; or see `anabranch checkpoints {asked.pipeline.metadata.name}` "
        "for the states that are kept, and write a later `from`",
        topic=source.topic,
        missing={str(each): list(span) for each, span in lost.items()},
    )
