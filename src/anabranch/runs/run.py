"""A run as it is submitted, and as it is remembered."""

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
    """What `submit` takes. The id comes from the caller and sorts by time; it also names branches and snapshots."""

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
            require_words(name, getattr(self, name))


@dataclass(frozen=True)
class RunFault:
    """Why a run failed: the code of the error and its sentence."""

    code: str
    text: str

    def __post_init__(self) -> None:
        # The words of somebody else's error may hold what a database takes no text with.
        clean = self.text.encode("utf-8", "replace").decode("utf-8").replace("\0", "?")
        object.__setattr__(self, "text", clean)


@dataclass(frozen=True)
class Run:
    """A run as the store has it. `epoch` is that of its latest lease; 0 means that nobody has worked on it yet."""

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
    """The run that a submission led to, and whether this very call created it."""

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
            f"There is no run {run_id!r} in this project's database.",
            state=NOTHING_CHANGED,
            command="anabranch list",
            run=run_id,
        )


class RunIdTakenError(AnabranchError):
    code = "run.id-taken"
    exit_code = ExitCode.CONFLICT

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"The run id {run_id!r} belongs to a run of another contract.",
            state=NOTHING_CHANGED,
            hint="submit again under a new id",
            run=run_id,
        )


class RangeHeldError(AnabranchError):
    """Another run is active on an overlapping range of the same target."""

    code = "run.range-held"
    exit_code = ExitCode.CONFLICT

    def __init__(self, wanted: TargetRange, holder: Run) -> None:
        super().__init__(
            f"Run {holder.id} ({holder.state.value}, by {holder.author}) holds {holder.target}, "
            f"which overlaps what was asked for: {wanted}.",
            state=NOTHING_CHANGED,
            hint=f"anabranch {'cancel' if (holder.state, Event.CANCEL) in TRANSITIONS else 'close'} {holder.id}; "
            f"anabranch status {holder.id} says where it stands",
            run=holder.id,
            run_state=holder.state.value,
            table=wanted.table,
        )


def require_words(name: str, value: str) -> None:
    """Refuse a name that is empty or holds control characters: it would be unreadable in the audit log."""
    if not value or not value.isprintable():
        raise ValueError(f"{name} must be printable and not empty: {value!r}")
