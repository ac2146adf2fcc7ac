"""Which offsets of the topic the table holds at the base, by the commits of its live writer. Never a guess. Pure.

A record behind the live writer's position is the writer's to commit. If the position is unknown and the replay reads to
the log's end, the writer commits the same records again after the promotion, and they count twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from anabranch.plan.offsets.completeness import Reading
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest


class LivePositionUnknownError(PlanRefusedError):
    code = "plan.live-position-unknown"


class LivePositionKnownError(PlanRefusedError):
    code = "plan.live-position-known"


class LiveAheadError(PlanRefusedError):
    code = "plan.live-ahead"


@dataclass(frozen=True)
class LivePosition:
    """The first offset of each partition that live has not committed at the base."""

    known: Mapping[int, int]
    unknown: frozenset[int]
    """Partitions of the topic whose position no snapshot records, while something may write to the table."""


def live_position(request: BackfillRequest, source: SourceFacts, target: TargetFacts) -> LivePosition:
    """The position by partition. Empty if the contract says that nothing else writes to the table (`live: none`).

    Raises if `live: none` contradicts the table, and if the position is not one of this topic.
    """
    live = target.live
    if request.no_live_writer:
        _require_no_position(source, target)
        return LivePosition({}, frozenset())
    _require_of_this_topic(source, target)
    known = dict(live.ends)
    for number, facts in source.partitions.items():
        # The table was measured before the topic, so nothing can have been read from a partition that is empty. A
        # complete history of live that never names a partition means that live has not begun to read it.
        if facts.latest == 0 or (live.commits and live.complete):
            known.setdefault(number, 0)
    return LivePosition(dict(sorted(known.items())), frozenset(source.partitions) - known.keys())


def require_position(
    request: BackfillRequest, target: TargetFacts, position: LivePosition, read: Collection[int]
) -> None:
    """Raise if the position of a partition in `read` is unknown: its records may be committed a second time."""
    unknown = sorted(position.unknown & set(read))
    if unknown:
        raise position_unknown(request, target, unknown)


def partitions_read(readings: Mapping[int, Reading]) -> frozenset[int]:
    """The partitions that hold a record of the range. Of the others, nothing can be written twice."""
    return frozenset(number for number, each in readings.items() if each.ranges)


def position_unknown(
    request: BackfillRequest, target: TargetFacts, unknown: Collection[int] = ()
) -> LivePositionUnknownError:
    """The refusal. Without `unknown`, of every partition of the topic."""
    topic, live = request.pipeline.spec.source.topic, target.live
    which = f"partition {', '.join(map(str, unknown))} of {topic}" if unknown else f"every partition of {topic}"
    if live.commits:
        cause = f"the snapshots of {target.table} that recorded it have expired"
        remedy = "wait until live has committed a batch with records of every partition, then plan again"
    else:
        others = f" ({live.foreign} by another writer)" if live.foreign else ""
        expired = "" if live.complete else ", and older ones have expired"
        cause = f"no snapshot of {target.table} records offsets{others}{expired}"
        remedy = (
            f"let the table's live writer commit everything it has read, stop it, and write `live: none` under spec of "
            f"contract {request.backfill.metadata.name}: the topic is then read to its end, and promotion is refused "
            "if anything else commits to the table after the plan"
        )
    return LivePositionUnknownError(
        f"The live offset of {which} is unknown: {cause}. A record that the replay reads and the writer commits later "
        "would count twice.",
        hint=remedy,
        topic=topic,
        table=target.table,
        unknown=list(unknown),
        foreign_snapshots=live.foreign,
    )


def _require_no_position(source: SourceFacts, target: TargetFacts) -> None:
    if not target.live.commits:
        return
    raise LivePositionKnownError(
        f"The contract says `live: none`, but {target.live.commits} snapshots of {target.table} are live's and record "
        f"how far it has read {source.topic}. Live resumes there when it is started again, and would commit what the "
        "replay reads behind that offset a second time.",
        hint="remove `live` from spec of the contract: the replay then ends where live stands",
        table=target.table,
        ends={str(number): end for number, end in sorted(target.live.ends.items())},
    )


def _require_of_this_topic(source: SourceFacts, target: TargetFacts) -> None:
    beyond = {
        number: end
        for number, end in sorted(target.live.ends.items())
        if number not in source.partitions or end > source.partitions[number].latest
    }
    if not beyond:
        return
    number, end = next(iter(beyond.items()))
    facts = source.partitions.get(number)
    now = "has no such partition" if facts is None else f"ends at {facts.latest}"
    raise LiveAheadError(
        f"Live has written {source.topic} up to offset {end} of partition {number}, and the topic {now}: "
        "it was deleted and made anew, or another cluster answers.",
        hint="check the context in use; rows of the former topic can't be replayed from this one",
        topic=source.topic,
        beyond={str(each): offset for each, offset in beyond.items()},
    )
