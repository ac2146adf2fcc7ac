"""A run as it is submitted, and as the store has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.runs.ranges import TargetRange
from anabranch.runs.states import TRANSITIONS, Event, State

_RUN_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class NewRun:
    """The input of `submit`. The caller makes the id, which sorts by time and is part of branch and tag names."""

    id: str
    pipeline: str
    target: TargetRange
    contract_hash: str
    plan_hash: str
    author: str
    contract: Mapping[str, object]
    plan: Mapping[str, object]

    def __post_init__(self) -> None:
        if not _RUN_ID.fullmatch(self.id):
            raise ValueError(f"a run id is 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit: {self.id!r}")
        for name in ("pipeline", "contract_hash", "plan_hash", "author"):
            require_printable(name, getattr(self, name))


@dataclass(frozen=True)
class RunFault:
    """Why a run failed: the code of the error and its message."""

    code: str
    text: str

    def __post_init__(self) -> None:
        # Another system's message may contain NUL or invalid Unicode, which PostgreSQL refuses as text.
        clean = self.text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
        object.__setattr__(self, "text", clean)


@dataclass(frozen=True)
class Run:
    """A run as the store has it. `epoch` is that of its latest lease; 0 before the first one."""

    id: str
    pipeline: str
    target: TargetRange
    contract_hash: str
    plan_hash: str
    author: str
    state: State
    epoch: int
    created_at: datetime
    updated_at: datetime
    fault: RunFault | None = None


@dataclass(frozen=True)
class Submission:
    """The run of a submission, and whether this call created it."""

    run: Run
    created: bool


@dataclass(frozen=True)
class Documents:
    """The contract and the plan that a run was submitted with."""

    contract: Mapping[str, object]
    plan: Mapping[str, object]


class RunUnknownError(AnabranchError):
    code = "run.unknown"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id!r} does not exist in this project's control database.",
            state=NOTHING_CHANGED,
            command="anabranch list",
            run=run_id,
        )


class RunIdTakenError(AnabranchError):
    code = "run.id-taken"
    exit_code = ExitCode.CONFLICT

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run id {run_id!r} is taken by a run of another contract.",
            state=NOTHING_CHANGED,
            hint="Submit again with a new id",
            run=run_id,
        )


class RangeHeldError(AnabranchError):
    """Another run is active on an overlapping range of the same target."""

    code = "run.range-held"
    exit_code = ExitCode.CONFLICT

    def __init__(self, wanted: TargetRange, holder: Run) -> None:
        ending = "cancel" if (holder.state, Event.CANCEL) in TRANSITIONS else "close"
        super().__init__(
            f"Range {wanted} is not free: run {holder.id} ({holder.state.value}, author {holder.author}) "
            f"holds {holder.target}.",
            state=NOTHING_CHANGED,
            command=f"anabranch status {holder.id}",
            hint=f"Wait for that run, or end it with `anabranch {ending} {holder.id}`",
            run=holder.id,
            run_state=holder.state.value,
            table=wanted.table,
        )


def require_printable(name: str, value: str) -> None:
    """Raise ValueError for an empty name or one with control characters, which the audit log could not show."""
    if not value or not value.isprintable():
        raise ValueError(f"{name} must be printable and not empty: {value!r}")
