"""What of the pinned things has changed since the plan was made: asked before and after every slice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import assert_never

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.axis import TimeAxis
from anabranch.plan.intervals import common, union
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Offsets, Ranges


@dataclass(frozen=True)
class Present:
    """The pinned things as they are now. None: the topic or the table is not there."""

    uuid: str | None
    partitions: int
    earliest: Mapping[int, int]
    code: str
    schema: str | None
    axis: TimeAxis | None
    base_kept: bool
    """Whether the base snapshot is still in main's history."""
    lookups_gone: frozenset[str] = frozenset()
    """The lookups whose pinned snapshot is there no more, by name."""


class PresentLook(Protocol):
    def now(self) -> Present:
        """Look at the topic, the code and the table anew. Changes nothing."""


@dataclass(frozen=True)
class TopicRecreated:
    """Also when the topic is gone (`now` is None). Offsets of another topic under the same name are other records."""

    was: str
    now: str | None


@dataclass(frozen=True)
class PartitionsAdded:
    """Allowed: live had written nothing from them at the base."""

    was: int
    now: int


@dataclass(frozen=True)
class RetentionPassed:
    """Of each partition, from the first offset that is needed and gone to the last."""

    lost: Offsets


@dataclass(frozen=True)
class CodeChanged:
    was: str
    now: str


@dataclass(frozen=True)
class SchemaChanged:
    """Columns or partitioning of the target; `now` is None when the table is gone."""

    was: str
    now: str | None


@dataclass(frozen=True)
class BaseGone:
    snapshot: int


@dataclass(frozen=True)
class LookupGone:
    name: str
    table: str
    snapshot: int


Drift = TopicRecreated | PartitionsAdded | RetentionPassed | CodeChanged | SchemaChanged | BaseGone | LookupGone


class DriftError(AnabranchError):
    """What the plan was made from is no longer so. The run stops rather than do something else than was planned."""

    code = "plan.drift"
    exit_code = ExitCode.CONFLICT


class TopicRecreatedError(DriftError):
    code = "plan.topic-recreated"


class RetentionOvertookError(DriftError):
    code = "plan.retention-overtook"


class CodeChangedError(DriftError):
    code = "plan.code-changed"


class SchemaChangedError(DriftError):
    code = "plan.schema-changed"


class BaseGoneError(DriftError):
    code = "plan.base-gone"


class LookupGoneError(DriftError):
    code = "plan.lookup-gone"


def check_drift(plan: Plan, now: Present, needed: Ranges | None = None) -> list[Drift]:
    """All that has changed. `needed` are the offsets still to be read; without it, all of the plan's."""
    found: list[Drift] = []
    if now.uuid != plan.source.uuid:
        # Whatever the new topic's offsets are, they say nothing about the old one's.
        found.append(TopicRecreated(plan.source.uuid, now.uuid))
    else:
        if now.partitions != plan.source.partitions:
            found.append(PartitionsAdded(plan.source.partitions, now.partitions))
        gone = lost_of(plan.source.ranges if needed is None else needed, now.earliest)
        if gone:
            found.append(RetentionPassed(gone))
    if now.code != plan.code:
        found.append(CodeChanged(plan.code, now.code))
    if now.schema != plan.target.schema or now.axis != plan.target.partitions.axis:
        found.append(SchemaChanged(plan.target.schema, now.schema))
    elif not now.base_kept:
        found.append(BaseGone(plan.target.base))
    for name in sorted(now.lookups_gone):
        found.append(LookupGone(name, plan.lookups[name].table, plan.lookups[name].snapshot))
    return found


def forbids(drift: Drift) -> bool:
    """Whether the run must stop. Added partitions only have to be told."""
    return not isinstance(drift, PartitionsAdded)


def require_no_drift(plan: Plan, drifts: Iterable[Drift]) -> None:
    """Raise for the first drift that forbids going on."""
    for drift in drifts:
        if forbids(drift):
            raise error_of(plan, drift)


def describe(drift: Drift) -> str:
    match drift:
        case TopicRecreated(was, None):
            return f"the topic (id {was}) is gone"
        case TopicRecreated(was, now):
            return f"the topic was deleted and made anew: its id was {was} and is {now}"
        case PartitionsAdded(was, now):
            return f"the topic had {was} partitions and has {now}; the plan keeps to its own"
        case RetentionPassed(lost):
            gone = ", ".join(f"partition {p}: {start} to {end - 1}" for p, (start, end) in sorted(lost.items()))
            return f"retention has deleted offsets that are still to be read ({gone})"
        case CodeChanged(was, now):
            return f"the transform's code has changed: its digest was {was[:12]} and is {now[:12]}"
        case SchemaChanged(_, None):
            return "the target table is gone"
        case SchemaChanged():
            return "the columns or the partitioning of the target have changed"
        case BaseGone(snapshot):
            return f"the base snapshot {snapshot} is no longer in the history of the target"
        case LookupGone(name, table, snapshot):
            return f"snapshot {snapshot} of {table}, which {name} is looked up in, is gone"
        case _:
            assert_never(drift)


SAFE = "Production is as before. What is staged stays, and is complete for the slices that were committed."


def error_of(plan: Plan, drift: Drift) -> DriftError:
    """The error for a drift: what is missing, what is safe, and the way out."""
    what = f"{plan.source.topic} → {plan.target.table}: {describe(drift)}."
    match drift:
        case TopicRecreated():
            return TopicRecreatedError(
                what,
                untouched=SAFE,
                next_step="cancel the run: its records are gone. If the new topic holds them again, plan anew",
                topic=plan.source.topic,
            )
        case RetentionPassed(lost):
            return RetentionOvertookError(
                what,
                untouched=SAFE + " It can't be promoted: the range would be incomplete.",
                next_step="cancel the run, raise retention.ms, and plan a range that the topic still has",
                topic=plan.source.topic,
                lost={str(p): [start, end] for p, (start, end) in sorted(lost.items())},
            )
        case CodeChanged():
            return CodeChangedError(
                what,
                untouched=SAFE,
                next_step="put the former code back and run the same command; or cancel the run and plan anew",
                was=drift.was,
                now=drift.now,
            )
        case SchemaChanged():
            return SchemaChangedError(
                what,
                untouched=SAFE,
                next_step="cancel the run and plan anew: its rows were made for the former columns",
                table=plan.target.table,
            )
        case BaseGone():
            return BaseGoneError(
                what,
                untouched=SAFE,
                next_step="cancel the run and plan anew, keeping snapshots at least as long as a backfill runs",
                table=plan.target.table,
                base=plan.target.base,
            )
        case LookupGone():
            return LookupGoneError(
                what,
                untouched=SAFE,
                next_step="cancel the run and plan anew: it takes the lookup as it is then, or as spec.lookups says. "
                "Keep snapshots of lookup tables at least as long as a backfill runs",
                table=drift.table,
                snapshot=drift.snapshot,
            )
        case PartitionsAdded():
            return DriftError(what, untouched=SAFE, next_step="nothing: the run goes on with the plan's partitions")
        case _:
            assert_never(drift)


def lost_of(needed: Ranges, earliest: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """What of the needed is gone. A partition that is not named any more has lost everything."""
    gone = {
        number: common(ranges, union([(0, earliest.get(number, ranges[-1][1]))]))
        for number, ranges in sorted(needed.items())
        if ranges
    }
    return {number: (ranges[0][0], ranges[-1][1]) for number, ranges in gone.items() if ranges}
