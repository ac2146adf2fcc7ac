"""`anabranch approve`: approve a plan or a run for promotion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.options import ContextName, ProjectFolder, Reason
from anabranch.cli.output import Format, Output, emit, say, say_next

if TYPE_CHECKING:
    from anabranch.adapters.sql.store import SqlRunStore
    from anabranch.app.project_context import ProjectContext
    from anabranch.gates.approval.requests import ApprovalSubject

RunOrPlan = Annotated[
    str,
    typer.Argument(metavar="RUN|PLAN", help="Id of a run or `last`, or a plan file written by `anabranch plan --out`."),
]


def approve(
    what: RunOrPlan,
    reason: Reason = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Approve a run, or a plan before it runs. Valid until run or plan changes, it expires or is revoked."""
    from datetime import datetime, timezone

    from anabranch.app.backfill import operator
    from anabranch.gates.approval.requests import approve as give

    with open_subject(what, project, context) as (project_context, store, subject):
        settings, who = project_context.loaded.settings, operator()[1]
        approval = give(store, settings, subject, who=who, reason=reason, now=datetime.now(timezone.utc))
    run, judged = subject.run, approval.judged
    following = f"anabranch apply {what}" if run is None else f"anabranch promote {run.id}"
    document: dict[str, Any] = {"run": None if run is None else run.id, **approval.document(), "next": following}
    covers = (
        "the staging snapshot that validation accepts"
        if judged is None
        else f"staging snapshot {judged.staging}, digest {judged.digest}"
    )
    until = f"{approval.good_until:%Y-%m-%d %H:%M} UTC"
    emit(
        document,
        output,
        lambda console: console.print(f"Approved {subject.name} by {who} until {until}: {covers}.", markup=False),
    )
    if run is not None and who == run.author:
        say("note      you are its author; a context that requires approval refuses self-approval")
    say_next(following)


@contextmanager
def open_subject(
    what: str, project: Path, context: str | None
) -> Iterator[tuple[ProjectContext, SqlRunStore, ApprovalSubject]]:
    """The plan, if a file of that name exists; otherwise the run."""
    from anabranch.app.approval import subject_of_plan, subject_of_run
    from anabranch.app.project_context import open_project
    from anabranch.cli.options import open_run

    file = Path(what)
    if file.is_file():
        project_context = open_project(project, context)
        with project_context.store() as store:
            yield project_context, store, subject_of_plan(file)
        return
    with open_run(what, project, context) as backfill:
        yield backfill.project_context, backfill.store, subject_of_run(backfill)
