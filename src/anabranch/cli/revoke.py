"""`anabranch revoke`: revoke the approvals of a run or a plan."""

from __future__ import annotations

from pathlib import Path

from anabranch.cli.approve import RunOrPlan, open_subject
from anabranch.cli.options import ContextName, ProjectFolder, RequiredReason
from anabranch.cli.output import Format, Output, emit, say_next


def revoke(
    what: RunOrPlan,
    reason: RequiredReason,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Revoke every approval of a run or plan. Everyone may: it prevents a promotion and changes nothing else."""
    from anabranch.app.backfill import operator
    from anabranch.gates.approval.requests import revoke as revoke_approvals
    from anabranch.runs.states import State

    who = operator()[1]
    with open_subject(what, project, context) as (_, store, subject):
        revoke_approvals(store, subject, who=who, reason=reason)
    run = subject.run
    following = f"anabranch approve {what}" if run is None else f"anabranch approve {run.id}"
    if run is not None and run.state is State.PROMOTED:
        # The promotion has happened: only a rollback reverses it.
        following = f"anabranch rollback {run.id}"
    emit(
        {"run": None if run is None else run.id, "plan": subject.plan, "by": who, "reason": reason, "next": following},
        output,
        lambda console: console.print(f"Revoked every approval of {subject.name}.", markup=False),
    )
    say_next(following)
