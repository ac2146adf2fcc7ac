"""`anabranch approve`: agree to a plan or a run, so that it may be promoted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder

if TYPE_CHECKING:
    from anabranch.adapters.sql.store import SqlRunStore
    from anabranch.app.project_context import ProjectContext
    from anabranch.gates.approval.requests import ApprovalSubject

RunOrPlan = Annotated[
    str,
    typer.Argument(
        metavar="RUN|PLAN", help="A run, by its id or `last`; or the file of a plan that `anabranch plan --out` wrote."
    ),
]


def approve(
    what: RunOrPlan,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why, for whoever reads the record later.", show_default=False)
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Agree to a run, or to a plan before it runs. It counts until either changes, it expires or is revoked."""
    from datetime import datetime, timezone

    from anabranch.app.backfill import operator
    from anabranch.gates.approval.requests import approve as give

    with subject_in_hand(what, project, context) as (project_context, store, subject):
        settings, who = project_context.loaded.settings, operator()[1]
        approval = give(store, settings, subject, who=who, reason=reason, now=datetime.now(timezone.utc))
    run, judged = subject.run, approval.judged
    following = f"anabranch apply {what}" if run is None else f"anabranch promote {run.id}"
    document: dict[str, Any] = {"run": None if run is None else run.id, **approval.document(), "next": following}
    covers = (
        "whatever it leads to, once validation accepts it"
        if judged is None
        else f"staging snapshot {judged.staging}, digest {judged.digest}"
    )
    until = f"{approval.good_until:%Y-%m-%d %H:%M} UTC"
    emit(
        document,
        output,
        lambda console: console.print(f"{who} approves {subject.name} until {until}: {covers}.", markup=False),
    )
    words = stderr()
    if run is not None and who == run.author:
        words.print("note      you are its author; a context that asks for approval would refuse this", markup=False)
    words.print(f"next      {following}", markup=False)


@contextmanager
def subject_in_hand(
    what: str, project: Path, context: str | None
) -> Iterator[tuple[ProjectContext, SqlRunStore, ApprovalSubject]]:
    """A plan, if there is a file of that name; otherwise a run."""
    from anabranch.app.approval import subject_of_plan, subject_of_run
    from anabranch.app.project_context import open_project
    from anabranch.cli.place import run_in_hand

    file = Path(what)
    if file.is_file():
        project_context = open_project(project, context)
        with project_context.store() as store:
            yield project_context, store, subject_of_plan(file)
        return
    with run_in_hand(what, project, context) as backfill:
        yield backfill.project_context, backfill.store, subject_of_run(backfill)
