"""Options and arguments that several commands share, the run a command works on, and confirmations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.current_command import note_status_command
from anabranch.cli.output import say
from anabranch.cli.pasteable import note_context, note_contract, note_project
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.slices import SIZE_IN_WORDS

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun

ProjectFolder = Annotated[
    Path,
    typer.Option("--project", callback=note_project, help="The project's folder, or any folder inside it."),
]
ContextName = Annotated[
    str | None,
    typer.Option(
        "--context",
        callback=note_context,
        help="The context.",
        show_default="ANABRANCH_CONTEXT, or the project's default",
    ),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run; `last` is the newest.")]
OptionalRunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Id of the run; `last` is the newest.", show_default=False)
]
PipelineName = Annotated[str, typer.Argument(metavar="PIPELINE", help="Name of the pipeline.", show_default=False)]
ContractFile = Annotated[
    Path, typer.Option("--file", "-f", callback=note_contract, help="The contract.", show_default=False)
]
OptionalContractFile = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", callback=note_contract, help="The contract, instead of a run or plan.", show_default=False
    ),
]
SliceSize = Annotated[int | None, typer.Option(min=1, help="Offsets per slice.", show_default=SIZE_IN_WORDS)]
Control = Annotated[
    bool,
    typer.Option("--control", help="Also replay the code that wrote production's rows, to tell the fix from noise."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Skip the confirmation, in scripts.")]
Reason = Annotated[str | None, typer.Option("--reason", help="The reason, for the audit chain.", show_default=False)]
RequiredReason = Annotated[str, typer.Option("--reason", help="The reason, for the audit chain.", show_default=False)]


class NotConfirmedError(AnabranchError):
    code = "cli.not-confirmed"
    exit_code = ExitCode.REFUSED


@contextmanager
def open_run(run: str, project: Path, context: str | None) -> Iterator[BackfillRun]:
    """The run, with the store open until the end of the block. Raises RunUnknownError if there is none."""
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
        note_status_command(f"anabranch status {run}")
        yield BackfillRun(project_context, store, run, say=say)


def confirm(question: str, table: str, yes: bool) -> None:
    """Require the table's name to be typed, unless `yes`. Raises NotConfirmedError, at once without a terminal."""
    if yes:
        return
    typer.echo(question, err=True)
    if not sys.stdin.isatty():
        raise NotConfirmedError(
            "Confirmation required, but stdin is not a terminal. Pass --yes.",
            state=NOTHING_CHANGED,
            hint="run the same command with --yes",
        )
    answer = typer.prompt(f"Type the table's name ({table}) to continue", default="", show_default=False, err=True)
    if answer.strip() != table:
        raise NotConfirmedError(
            f"Not confirmed: {answer!r} is not the table's name, {table}.",
            state=NOTHING_CHANGED,
            hint="run the same command again and type the table's name, or pass --yes",
        )
