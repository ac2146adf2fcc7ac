"""Where a command works: the project, the context, and a run in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.under_way import note_look
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun

ProjectFolder = Annotated[Path, typer.Option("--project", help="The project's folder, or any folder inside it.")]
ContextName = Annotated[
    str | None, typer.Option("--context", help="The context.", show_default="ANABRANCH_CONTEXT, or the project's own")
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run, by its id; `last` for the newest.")]
Control = Annotated[
    bool,
    typer.Option("--control", help="Also replay the code that production was made by, to tell the fix from noise."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask; for scripts.")]


class NotConfirmedError(AnabranchError):
    code = "cli.not-confirmed"
    exit_code = ExitCode.REFUSED


@contextmanager
def run_in_hand(run: str, project: Path, context: str | None) -> Iterator[BackfillRun]:
    """The run, with the store open."""
    from anabranch.app.backfill import BackfillRun
    from anabranch.app.project_context import open_project
    from anabranch.runs.run import RunUnknownError

    project_context = open_project(project, context)
    with project_context.store(create=False) as store:
        if run == "last":
            runs = store.reader.runs()
            if not runs:
                raise RunUnknownError("last")
            run = runs[-1].id
        store.reader.run(run)
        note_look(f"anabranch status {run}")
        yield BackfillRun(project_context, store, run)


def confirm(question: str, table: str, yes: bool) -> None:
    """Ask for the table's name to be typed. With no terminal and no --yes the answer is no."""
    if yes:
        return
    typer.echo(question, err=True)
    answer = typer.prompt(f"Type the table's name ({table}) to go on", err=True) if sys.stdin.isatty() else ""
    if answer.strip() != table:
        raise NotConfirmedError(
            f"Not confirmed: {answer!r} is not the table's name, {table}."
            if answer
            else "Confirmation required, but stdin is not a terminal or nothing was typed.",
            state=NOTHING_CHANGED,
            hint="run the same command again and type the table's name, or pass --yes",
        )
