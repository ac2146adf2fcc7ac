"""Which pinned inputs have changed since the plan was made, and at which stage of a run that matters. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from typing_extensions import assert_never

from anabranch.plan.offsets.intervals import common, union
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Offsets, Ranges
from anabranch.plan.target_range import TimeAxis
from anabranch.runs.heads import Head


@dataclass(frozen=True)
class ObservedInputs:
    """The pinned inputs now. None: the topic or the table does not exist."""

    uuid: str | None
    partitions: int
    earliest: Mapping[int, int]
    code: str
    schema: str | None
    axis: TimeAxis | None
    base_kept: bool
    """Whether the base snapshot is still in main's history."""
    lookups_gone: frozenset[str] = frozenset()
    """Names of the lookups whose pinned snapshot has expired."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """The pipeline's pinned fields, by their path in the file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests of the pinned files that can be read."""


class InputObserver(Protocol):
    def now(self) -> ObservedInputs:
        """Read the state of topic, code and table now, uncached. Changes nothing."""


class Stage(str, Enum):
    """The stage of a run, by the inputs it still reads."""

    REPLAYING = "replaying"
    """Slices remain to be written, of the plan or of a catch-up."""
    STAGED = "staged"
    """Every slice is in staging; validation, approval, promotion and a possible rollback remain."""


@dataclass(frozen=True)
class TopicRecreated:
    """Also when the topic was deleted (`now` is None). Offsets of a recreated topic are other records."""

    was: str
    now: str | None


@dataclass(frozen=True)
class PartitionsAdded:
    """Allowed: live had written nothing from the new partitions at the base."""

    was: int
    now: int


@dataclass(frozen=True)
class RetentionPassed:
    """Per partition, the first and last of the needed offsets that were deleted."""

    lost: Offsets


@dataclass(frozen=True)
class CodeChanged:
    was: str
    now: str


@dataclass(frozen=True)
class PipelineChanged:
    """A field of the pipeline's file. None: not set."""

    field: str
    was: str | None
    now: str | None


@dataclass(frozen=True)
class CheckFileChanged:
    """A file that validation reads; `now` is None when it can't be read."""

    file: str
    was: str
    now: str | None


@dataclass(frozen=True)
class SchemaChanged:
    """Columns or partitioning of the target; `now` is None when the table is gone."""

    was: str
    now: str | None


@dataclass(frozen=True)
class BaseGone:
    snapshot: Head


@dataclass(frozen=True)
class LookupGone:
    name: str
    table: str
    snapshot: Head


Drift = (
    TopicRecreated
    | PartitionsAdded
    | RetentionPassed
    | CodeChanged
    | PipelineChanged
    | CheckFileChanged
    | SchemaChanged
    | BaseGone
    | LookupGone
)


def check_drift(plan: Plan, now: ObservedInputs, needed: Ranges | None = None) -> list[Drift]:
    """Every change. `needed` are the offsets still to be read, by default all of the plan's."""
    drifts: list[Drift] = []
    if now.uuid != plan.source.uuid:
        # The new topic's offsets are unrelated to the planned ones.
        drifts.append(TopicRecreated(plan.source.uuid, now.uuid))
    else:
        if now.partitions != plan.source.partitions:
            drifts.append(PartitionsAdded(plan.source.partitions, now.partitions))
        gone = lost_of(plan.source.ranges if needed is None else needed, now.earliest)
        if gone:
            drifts.append(RetentionPassed(gone))
    drifts += drift_of_files(plan, now.declared, now.files)
    if now.code != plan.code:
        drifts.append(CodeChanged(plan.code, now.code))
    if now.schema != plan.target.schema or now.axis != plan.target.partitions.axis:
        drifts.append(SchemaChanged(plan.target.schema, now.schema))
    elif not now.base_kept:
        drifts.append(BaseGone(plan.target.base))
    for name in sorted(now.lookups_gone):
        drifts.append(LookupGone(name, plan.lookups[name].table, plan.lookups[name].snapshot))
    return drifts


def drift_of_files(plan: Plan, declared: Mapping[str, str], files: Mapping[str, str]) -> list[Drift]:
    """Changes of the pipeline's file and of the files that validation reads: the inputs of a verdict."""
    drifts: list[Drift] = []
    for path in sorted(plan.declared.keys() | declared.keys()):
        if plan.declared.get(path) != declared.get(path):
            drifts.append(PipelineChanged(path, plan.declared.get(path), declared.get(path)))
    for file, was in sorted(plan.files.items()):
        if files.get(file) != was:
            drifts.append(CheckFileChanged(file, was, files.get(file)))
    return drifts


def drift_at(plan: Plan, now: ObservedInputs, stage: Stage) -> tuple[Drift, ...]:
    """The changes that matter at this stage: one rule for gates, validation and promotion."""
    if stage is Stage.REPLAYING:
        return tuple(check_drift(plan, now))
    return tuple(drift for drift in check_drift(plan, now, needed={}) if matters_once_staged(plan, drift))


def matters_once_staged(plan: Plan, drift: Drift) -> bool:
    """Whether a drift still counts when every slice is in staging.

    Where a range is replaced, code and lookups are not read again: promotion and rollback move files, and a catch-up
    checks all drift before it reads. Where the whole table is replaced, the transform merges every later commit of
    live, before the promotion and in its rollback, so a promotion without the lookup could not be rolled back. There
    the rollback itself checks the code, against the code that live ran.
    """
    match drift:
        case CodeChanged():
            return False
        case LookupGone():
            return plan.strategy.whole_table
        case (
            TopicRecreated()
            | PartitionsAdded()
            | RetentionPassed()
            | PipelineChanged()
            | CheckFileChanged()
            | SchemaChanged()
            | BaseGone()
        ):
            return True
        case _:
            assert_never(drift)


def forbids(drift: Drift) -> bool:
    """Whether the run must stop. Added partitions are only reported."""
    return not isinstance(drift, PartitionsAdded)


def lost_of(needed: Ranges, earliest: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """The needed offsets that were deleted. A partition missing from `earliest` has lost all of them."""
    gone = {
        number: common(ranges, union([(0, earliest.get(number, ranges[-1][1]))]))
        for number, ranges in sorted(needed.items())
        if ranges
    }
    return {number: (ranges[0][0], ranges[-1][1]) for number, ranges in gone.items() if ranges}
