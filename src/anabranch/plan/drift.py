"""What of the pinned things has changed since the plan was made, and at which stage of a run that matters. Pure."""

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
    declared: Mapping[str, str] = field(default_factory=dict)
    """The pipeline's pinned fields, by their path in the file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests of the pinned files that can be read."""


class InputObserver(Protocol):
    def now(self) -> ObservedInputs:
        """Look at the topic, the code and the table anew. Changes nothing."""


class Stage(str, Enum):
    """How far a run is, by what it still reads."""

    REPLAYING = "replaying"
    """Slices are still to be written: of the plan, or to catch up with live."""
    STAGED = "staged"
    """Every slice is in staging: validation, approval and promotion are left, and the rollback after it."""


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
class PipelineChanged:
    """A field of the pipeline's file. None: it was not there, or is not there now."""

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
    snapshot: int


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
    found += drift_of_files(plan, now.declared, now.files)
    if now.code != plan.code:
        found.append(CodeChanged(plan.code, now.code))
    if now.schema != plan.target.schema or now.axis != plan.target.partitions.axis:
        found.append(SchemaChanged(plan.target.schema, now.schema))
    elif not now.base_kept:
        found.append(BaseGone(plan.target.base))
    for name in sorted(now.lookups_gone):
        found.append(LookupGone(name, plan.lookups[name].table, plan.lookups[name].snapshot))
    return found


def drift_of_files(plan: Plan, declared: Mapping[str, str], files: Mapping[str, str]) -> list[Drift]:
    """What has changed of the pipeline's file and of the files that validation reads: all that a verdict rests on."""
    found: list[Drift] = []
    for path in sorted(plan.declared.keys() | declared.keys()):
        if plan.declared.get(path) != declared.get(path):
            found.append(PipelineChanged(path, plan.declared.get(path), declared.get(path)))
    for file, was in sorted(plan.files.items()):
        if files.get(file) != was:
            found.append(CheckFileChanged(file, was, files.get(file)))
    return found


def drift_at(plan: Plan, now: ObservedInputs, stage: Stage) -> tuple[Drift, ...]:
    """What matters at this stage: the one rule for the gates, for validation and for promotion."""
    if stage is Stage.REPLAYING:
        return tuple(check_drift(plan, now))
    return tuple(drift for drift in check_drift(plan, now, needed={}) if matters_once_staged(plan, drift))


def matters_once_staged(plan: Plan, drift: Drift) -> bool:
    """Whether a drift still counts when every slice is in staging.

    Code and lookups have made the staged rows. Neither is read again where a range is replaced: a promotion and its
    rollback move files, and a catch-up looks for all drift before it reads. A whole table is another matter: every
    later commit of live is merged by the transform, before the promotion and in its rollback, so a promotion without
    the lookup could not be undone. The code is checked there by the rollback itself, against the code that live ran.
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
    """Whether the run must stop. Added partitions only have to be told."""
    return not isinstance(drift, PartitionsAdded)


def lost_of(needed: Ranges, earliest: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """What of the needed is gone. A partition that is not named any more has lost everything."""
    gone = {
        number: common(ranges, union([(0, earliest.get(number, ranges[-1][1]))]))
        for number, ranges in sorted(needed.items())
        if ranges
    }
    return {number: (ranges[0][0], ranges[-1][1]) for number, ranges in gone.items() if ranges}
