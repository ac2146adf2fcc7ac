"""`anabranch revoke`: take back the approvals of a run or a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.approve import RunOrPlan, subject_in_hand
from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder


def revoke(
    what: RunOrPlan,
    reason: Annotated[str, typer.Option("--reason", help="Why, for whoever reads the record later.")],
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Take back every approval of a run or plan given so far. Anybody may: it stops a promotion, and nothing else."""
    from anabranch.app.backfill import operator
    from anabranch.gates.approval.requests import revoke as take_back
    from anabranch.runs.states import State

    who = operator()[1]
    with subject_in_hand(what, project, context) as (_, store, subject):
        take_back(store, subject, who=who, reason=reason)
    run = subject.run
    following = f"anabranch approve {what}" if run is None else f"anabranch approve {run.id}"
    if run is not None and run.state is State.PROMOTED:
        # Too late to stop it: only a rollback takes it out again.
        following = f"anabranch rollback {run.id}"
    emit(
        {"run": None if run is None else run.id, "plan": subject.plan, "by": who, "reason": reason, "next": following},
        output,
        lambda console: console.print(f"No approval of {subject.name} given so far counts any more.", markup=False),
    )
    stderr().print(f"next      {following}", markup=False)
