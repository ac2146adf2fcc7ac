"""The steps of a backfill: one list, which explaining prints and running carries out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from typing_extensions import assert_never

from anabranch.plan.axis import PartitionRange
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.project.quantities import format_moment


@dataclass(frozen=True)
class HoldRange:
    """No other backfill may touch this part of the table from here on."""

    table: str
    partitions: PartitionRange


@dataclass(frozen=True)
class MakeStaging:
    """A branch of the table from its base, with the range taken out. Readers of the table don't see it."""

    table: str
    base: int
    files: int
    rows: int


@dataclass(frozen=True)
class ReplaySlice:
    """One job, one commit to staging."""

    slice: Slice


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


Step = HoldRange | MakeStaging | ReplaySlice | Validate | Promote | Close


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """Everything that running the plan does, in order."""
    target = plan.target
    return (
        HoldRange(target.table, target.partitions),
        MakeStaging(target.table, target.base, target.files, target.rows),
        *(ReplaySlice(piece) for piece in plan.slices),
        Validate(plan.checks),
        Promote(target.table, target.files, target.rows),
        Close(target.table),
    )


def describe(step: Step) -> str:
    """A step in one line, for people."""
    match step:
        case HoldRange(table, partitions):
            return f"hold {table} from {format_moment(partitions.start)} to {format_moment(partitions.end)}"
        case MakeStaging(table, base, files, rows):
            out = f"{_count(files, 'file')} with {_count(rows, 'row')}"
            return f"branch {table} from snapshot {base}, the range taken out ({out})"
        case ReplaySlice(piece):
            parts = ", ".join(f"{p}: {start}–{end}" for p, (start, end) in sorted(piece.offsets.items()))
            wider = sum(end - start for start, end in piece.needed.values()) - piece.width
            more = f", and {_count(wider, 'offset')} more that its windows need" if wider else ""
            return f"replay slice {piece.id}: {_count(piece.width, 'offset')} ({parts}){more}"
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
        ReplaySlice: "replay-slice",
        Validate: "validate",
        Promote: "promote",
        Close: "close",
    }[type(step)]
    slice_id = {"slice": step.slice.id} if isinstance(step, ReplaySlice) else {}
    return {"step": name, **slice_id, "words": describe(step)}


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
