"""Live's position: the offsets that its commits record at the base. Refused where it is unknown. Pure.

Records after the live writer's position are the writer's to commit. If the position is unknown and the replay reads to
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
    """Raise if the position of a partition in `read` is unknown: its records could be committed twice."""
    unknown = sorted(position.unknown & set(read))
    if unknown:
        raise position_unknown(request, target, unknown)


def partitions_read(readings: Mapping[int, Reading]) -> frozenset[int]:
    """The partitions from which the replay reads. Records of the others can't be committed twice."""
    return frozenset(number for number, each in readings.items() if each.ranges)


def position_unknown(
    request: BackfillRequest, target: TargetFacts, unknown: Collection[int] = ()
) -> LivePositionUnknownError:
    """The refusal, for all partitions of the topic if `unknown` is empty."""
    topic, live = request.pipeline.spec.source.topic, target.live
    which = f"partition {', '.join(map(str, unknown))} of {topic}" if unknown else f"every partition of {topic}"
    if live.commits:
        cause = f"the snapshots of {target.table} that recorded it have expired"
        remedy = "wait until live has committed records of every partition, then plan again"
    else:
        others = f" ({live.foreign} by another writer)" if live.foreign else ""
        expired = "" if live.complete else ", and older ones have expired"
        cause = f"no snapshot of {target.table} records offsets{others}{expired}"
        remedy = (
            f"let the table's writer commit everything it has read, stop it, and write `live: none` under spec of "
            "contract "
            f"{request.backfill.metadata.name}: the topic is then read to its end, and promotion is refused if another "
            "writer commits to the table after the plan"
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
        f"The contract says `live: none`, but {target.live.commits} snapshots of {target.table} are by live and "
        "record its "
        f"offsets in {source.topic}. Live resumes there when it is started again, and would commit the records after "
        "these offsets a second time.",
        hint="remove `live` from spec of the contract: the replay then ends at live's offsets",
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
    now = "does not exist" if facts is None else f"ends at offset {facts.latest}"
    raise LiveAheadError(
        f"Live committed {source.topic} up to offset {end} of partition {number}, but that partition {now}: "
        "the topic was deleted and recreated, or the context names another cluster.",
        hint="check which context is used; rows of the former topic can't be replayed from this one",
        topic=source.topic,
        beyond={str(each): offset for each, offset in beyond.items()},
    )
