"""The steps of a backfill: one list, which explaining prints and running carries out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from typing_extensions import assert_never

from anabranch.plan.axis import EPOCH, TargetPart, WholeTable
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice, offsets_in
from anabranch.project.quantities import format_moment


@dataclass(frozen=True)
class HoldRange:
    """No other backfill may touch this part of the table from here on."""

    table: str
    partitions: TargetPart


@dataclass(frozen=True)
class MakeStaging:
    """A branch of the table from its base, with the range taken out. Readers of the table don't see it."""

    table: str
    base: int
    files: int
    rows: int


@dataclass(frozen=True)
class TakeState:
    """A branch of the table as a state of it was before the damage; None: with nothing in it."""

    table: str
    snapshot: int | None


@dataclass(frozen=True)
class TakeCheckpoint:
    """The stream's own state, as live had it before the range; None: with nothing in it."""

    checkpoint: str | None
    batch: int


@dataclass(frozen=True)
class ReplaySlice:
    """One job, one commit to staging."""

    slice: Slice


@dataclass(frozen=True)
class MakeControl:
    """A second branch, made as staging is, for the code that production was made by. It is never promoted."""

    table: str
    code: str


@dataclass(frozen=True)
class ControlSlice:
    """The same offsets by the control's code: one job, one commit to the control's branch."""

    slice: Slice
    code: str


@dataclass(frozen=True)
class Validate:
    checks: tuple[str, ...]


@dataclass(frozen=True)
class Promote:
    """One commit on the table: the range's files out, staging's in. It waits until somebody asks for it."""

    table: str
    files: int
    rows: int


@dataclass(frozen=True)
class Close:
    """The record is written and staging removed."""

    table: str


Step = (
    HoldRange
    | MakeStaging
    | TakeState
    | TakeCheckpoint
    | MakeControl
    | ReplaySlice
    | ControlSlice
    | Validate
    | Promote
    | Close
)


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """Everything that running the plan does, in order."""
    target = plan.target
    return (
        HoldRange(target.table, target.partitions),
        MakeStaging(target.table, target.base, target.files, target.rows)
        if plan.state is None
        else TakeState(target.table, plan.state.snapshot),
        *(() if plan.stream is None else (TakeCheckpoint(plan.stream.checkpoint, plan.stream.batch),)),
        *(() if plan.control is None else (MakeControl(target.table, plan.control),)),
        *(step for piece in plan.slices for step in _replays(piece, plan.control)),
        Validate(plan.checks),
        Promote(target.table, target.files, target.rows),
        Close(target.table),
    )


def _replays(piece: Slice, control: str | None) -> tuple[Step, ...]:
    """Both versions of a slice follow each other, so that retention can't come between them."""
    return (ReplaySlice(piece),) if control is None else (ReplaySlice(piece), ControlSlice(piece, control))


def describe(step: Step) -> str:
    """A step in one line, for people."""
    match step:
        case HoldRange(table, partitions):
            if isinstance(partitions, WholeTable):
                return f"hold {table}, all of it"
            return f"hold {table} from {format_moment(partitions.start)} to {format_moment(partitions.end)}"
        case MakeStaging(table, base, files, rows):
            out = f"{_count(files, 'file')} with {_count(rows, 'row')}"
            return f"branch {table} from snapshot {base}, the range taken out ({out})"
        case TakeState(table, None):
            return f"branch {table} with nothing in it"
        case TakeState(table, snapshot):
            return f"branch {table} from its state at snapshot {snapshot}"
        case TakeCheckpoint(None):
            return "start the stream at live's first batch, with no state"
        case TakeCheckpoint(name, batch):
            return f"start the stream from live's checkpoint {name}, after its batch {batch}"
        case ReplaySlice(piece):
            parts = ", ".join(f"{p}: {start}–{end}" for p, (start, end) in sorted(piece.offsets.items()))
            wider = offsets_in(piece.needed) - piece.width
            more = f", and {_count(wider, 'offset')} more that its windows need" if wider else ""
            closing = "" if piece.closes is None else f", windows closed up to {_moment(piece.closes)}"
            return f"replay slice {piece.id}: {_count(piece.width, 'offset')} ({parts}){more}{closing}"
        case MakeControl(table, code):
            return f"branch {table} the same way for the control, code {code[:12]}; it is never promoted"
        case ControlSlice(piece, code):
            return f"replay slice {piece.id} by the control's code {code[:12]}: {_count(piece.width, 'offset')}"
        case Validate(checks):
            return f"validate: {'; '.join(checks)}"
        case Promote(table, files, rows):
            return f"promote in one commit to {table}: {_count(files, 'file')} out, the staged files in"
        case Close():
            return "close: write the record, remove staging"
        case _:
            assert_never(step)


def document_of(step: Step) -> dict[str, Any]:
    """A step as plain JSON values."""
    name = {
        HoldRange: "hold-range",
        MakeStaging: "make-staging",
        TakeState: "take-state",
        TakeCheckpoint: "take-checkpoint",
        MakeControl: "make-control",
        ReplaySlice: "replay-slice",
        ControlSlice: "control-slice",
        Validate: "validate",
        Promote: "promote",
        Close: "close",
    }[type(step)]
    slice_id = {"slice": step.slice.id} if isinstance(step, ReplaySlice | ControlSlice) else {}
    return {"step": name, **slice_id, "words": describe(step)}


def _moment(milliseconds: int) -> str:
    return format_moment(EPOCH + timedelta(milliseconds=milliseconds))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
