"""What a replay returns: a run whose slices are all in staging, which validation takes, or how the replay stopped."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.plan import Plan
from anabranch.replay.replayer import ReplayEnd
from anabranch.replay.staging import Staging, StagingTarget, take_staging
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

_STAGED = frozenset({State.STAGED, State.REJECTED, State.VALIDATED, State.ROLLED_BACK})
"""States in which all slices are in staging and the run can be validated, again too."""


class NotStagedError(AnabranchError):
    code = "validate.not-staged"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class StagedRun:
    """A plan, and staging with every slice of it. Made by `staged_run` alone."""

    plan: Plan
    staging: Staging

    @property
    def end(self) -> ReplayEnd:
        return ReplayEnd.STAGED


@dataclass(frozen=True)
class StoppedReplay:
    """A replay that was paused or cancelled; its committed slices stay in staging."""

    run: str
    end: ReplayEnd


def staged_run(lease: RunLease, plan: Plan, target: StagingTarget) -> StagedRun:
    """The run as its replay has left it, in this process or another. Raises NotStagedError if slices are missing."""
    run = lease.run
    if run.state not in _STAGED:
        raise NotStagedError(
            f"Run {run.id} is {run.state.value}: not all of its slices are staged.",
            state="Production and staging are unchanged by this command.",
            command=f"anabranch status {run.id}",
            run=run.id,
            run_state=run.state.value,
        )
    return StagedRun(plan, take_staging(lease, plan, target))
