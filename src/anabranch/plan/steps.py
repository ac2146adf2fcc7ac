"""The steps of a backfill: one list, which `plan` prints, the commands execute and the journal records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from typing_extensions import assert_never

from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice, offsets_in
from anabranch.plan.target_range import EPOCH, TargetPart, WholeTable
from anabranch.project.quantities import format_moment
from anabranch.runs.heads import Head

Command = Literal["submit", "replay", "validate", "rehearse-rollback", "promote", "close"]
"""What executes a step. `anabranch apply` goes from `submit` to `rehearse-rollback`; the others are commands."""


@dataclass(frozen=True)
class LeaseRange:
    """Acquires the lease: from here on, no other backfill may change this part of the table."""

    name: ClassVar[str] = "lease-range"
    command: ClassVar[Command] = "submit"
    table: str
    partitions: TargetPart


@dataclass(frozen=True)
class PassGates:
    """Drift, schedule, budget and every gate are checked before anything is created."""

    name: ClassVar[str] = "gates"
    command: ClassVar[Command] = "replay"


@dataclass(frozen=True)
class RecordIsolation:
    """Consumer groups with their offsets, and the topic's ACLs, which the isolation certificate is compared with."""

    name: ClassVar[str] = "isolation"
    command: ClassVar[Command] = "replay"
    topic: str


@dataclass(frozen=True)
class MakeStaging:
    """A branch of the table from its base without the range. Readers of the table don't see it."""

    name: ClassVar[str] = "staging"
    command: ClassVar[Command] = "replay"
    table: str
    base: Head
    files: int
    rows: int


@dataclass(frozen=True)
class StageFromSnapshot:
    """A branch of the table from a snapshot before the incident; None: an empty branch."""

    name: ClassVar[str] = "staging"
    command: ClassVar[Command] = "replay"
    table: str
    snapshot: Head | None


@dataclass(frozen=True)
class CopyCheckpoint:
    """Live's streaming checkpoint from before the range; None: the stream starts without state."""

    name: ClassVar[str] = "checkpoint"
    command: ClassVar[Command] = "replay"
    checkpoint: str | None
    batch: int


@dataclass(frozen=True)
class MakeControlStaging:
    """A second staging branch, for the code that wrote production. It is never promoted."""

    name: ClassVar[str] = "control-staging"
    command: ClassVar[Command] = "replay"
    table: str
    code: str


@dataclass(frozen=True)
class ReplaySlice:
    """One Spark job, one commit to staging."""

    name: ClassVar[str] = "slice"
    command: ClassVar[Command] = "replay"
    slice: Slice


@dataclass(frozen=True)
class ControlSlice:
    """The same offsets by the control's code: one Spark job, one commit to the control's branch."""

    name: ClassVar[str] = "control"
    command: ClassVar[Command] = "replay"
    slice: Slice
    code: str


@dataclass(frozen=True)
class Validate:
    name: ClassVar[str] = "validate"
    command: ClassVar[Command] = "validate"
    checks: tuple[str, ...]


@dataclass(frozen=True)
class RehearseRollback:
    """Promotion and rollback on a scratch branch of this table, which is removed; skipped while evidence is valid."""

    name: ClassVar[str] = "rollback-rehearsal"
    command: ClassVar[Command] = "rehearse-rollback"
    table: str


@dataclass(frozen=True)
class CatchUp:
    """Replays and validates what live committed into the range after the base, until staging contains all of it."""

    name: ClassVar[str] = "catch-up"
    command: ClassVar[Command] = "promote"
    base: Head


@dataclass(frozen=True)
class Promote:
    """One commit on the table: the range's files removed, staging's added. Executed only by `anabranch promote`."""

    name: ClassVar[str] = "promote"
    command: ClassVar[Command] = "promote"
    table: str
    files: int
    rows: int


@dataclass(frozen=True)
class Close:
    """The closure record is written and staging removed. Executed only by `anabranch close`."""

    name: ClassVar[str] = "close"
    command: ClassVar[Command] = "close"
    table: str


SliceStep = ReplaySlice | ControlSlice
Step = (
    LeaseRange
    | PassGates
    | RecordIsolation
    | MakeStaging
    | StageFromSnapshot
    | CopyCheckpoint
    | MakeControlStaging
    | ReplaySlice
    | ControlSlice
    | Validate
    | RehearseRollback
    | CatchUp
    | Promote
    | Close
)


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """Everything that running the plan does, in order. Commands execute this list; see `steps_for`."""
    target = plan.target
    return (
        LeaseRange(target.table, target.partitions),
        PassGates(),
        RecordIsolation(plan.source.topic),
        MakeStaging(target.table, target.base, target.files, target.rows)
        if plan.state is None
        else StageFromSnapshot(target.table, plan.state.snapshot),
        *(() if plan.control is None else (MakeControlStaging(target.table, plan.control),)),
        *(() if plan.stream is None else (CopyCheckpoint(plan.stream.checkpoint, plan.stream.batch),)),
        *(step for slice_ in plan.slices for step in _replays(slice_, plan.control)),
        Validate(plan.checks),
        RehearseRollback(target.table),
        CatchUp(target.base),
        Promote(target.table, target.files, target.rows),
        Close(target.table),
    )


def steps_for(plan: Plan, command: Command) -> tuple[Step, ...]:
    """The part of the list that one command executes, in order."""
    return tuple(step for step in steps_of(plan) if step.command == command)


def slice_steps(steps: Sequence[Step]) -> tuple[SliceStep, ...]:
    return tuple(step for step in steps if isinstance(step, ReplaySlice | ControlSlice))


def _replays(slice_: Slice, control: str | None) -> tuple[SliceStep, ...]:
    """Both variants of a slice run one after the other, so that retention deletes nothing between them."""
    return (ReplaySlice(slice_),) if control is None else (ReplaySlice(slice_), ControlSlice(slice_, control))


def describe(step: Step) -> str:
    """One line that describes the step."""
    match step:
        case LeaseRange(table, partitions):
            if isinstance(partitions, WholeTable):
                return f"lease all of {table}"
            return f"lease {table} from {format_moment(partitions.start)} to {format_moment(partitions.end)}"
        case PassGates():
            return "check drift, schedule, budget and gates; nothing is created before they pass"
        case RecordIsolation(topic):
            return f"record consumer groups, their offsets and the ACLs of {topic}, for the isolation certificate"
        case MakeStaging(table, base, files, rows):
            removed = f"{_count(files, 'file')} with {_count(rows, 'row')}"
            return f"branch {table} from snapshot {base} without the range ({removed})"
        case StageFromSnapshot(table, None):
            return f"branch {table}, empty"
        case StageFromSnapshot(table, snapshot):
            return f"branch {table} from snapshot {snapshot}"
        case CopyCheckpoint(None):
            return "start the stream at live's first batch, without state"
        case CopyCheckpoint(name, batch):
            return f"copy live's checkpoint {name}; the stream continues after batch {batch}"
        case ReplaySlice(slice_):
            parts = ", ".join(f"{p}: {start}–{end}" for p, (start, end) in sorted(slice_.offsets.items()))
            wider = offsets_in(slice_.needed) - slice_.width
            more = f", and {_count(wider, 'offset')} more for its windows" if wider else ""
            closing = "" if slice_.closes is None else f", windows closed up to {_moment(slice_.closes)}"
            return f"replay slice {slice_.id}: {_count(slice_.width, 'offset')} ({parts}){more}{closing}"
        case MakeControlStaging(table, code):
            return f"branch {table} the same way for the control, code {code[:12]}; it is never promoted"
        case ControlSlice(slice_, code):
            return f"replay slice {slice_.id} by the control's code {code[:12]}: {_count(slice_.width, 'offset')}"
        case Validate(checks):
            return f"validate: {'; '.join(checks)}"
        case RehearseRollback(table):
            return f"rehearse promotion and rollback on a scratch branch of {table}"
        case CatchUp(base):
            return f"on `anabranch promote`: replay and validate what live committed into the range after {base}"
        case Promote(table, files, _):
            return f"promote to {table} in one commit: {_count(files, 'file')} removed, the staged files added"
        case Close():
            return "on `anabranch close`: write the closure record, remove staging"
        case _:
            assert_never(step)


def document_of(step: Step) -> dict[str, Any]:
    """A step as plain JSON values. `step` is also its name in the journal."""
    slice_id = {"slice": step.slice.id} if isinstance(step, ReplaySlice | ControlSlice) else {}
    return {"step": step.name, **slice_id, "command": step.command, "words": describe(step)}


def _moment(milliseconds: int) -> str:
    return format_moment(EPOCH + timedelta(milliseconds=milliseconds))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
