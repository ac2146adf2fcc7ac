"""`anabranch queue`: the runs within the replay budget and those that wait for it, and their priorities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ProjectFolder, RunId, open_run
from anabranch.cli.output import Format, Output, emit, print_table, say_next
from anabranch.replay.budget_shares import LEAST_PRIORITY, MOST_PRIORITY, USUAL_PRIORITY

if TYPE_CHECKING:
    from rich.console import Console

queue = typer.Typer(
    name="queue",
    help="List runs in the replay budget and its queue; set priorities.",
    invoke_without_command=True,
)


@queue.callback()
def list_queue(
    invoked: typer.Context,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """List the runs that replay within the context's replay budget and those that wait, the next one first."""
    if invoked.invoked_subcommand is not None:
        return
    from anabranch.app.project_context import open_project
    from anabranch.app.replay_queue import queue_document
    from anabranch.project.quantities import format_rate

    project_context = open_project(project, context)
    with project_context.store(create=False) as store:
        document = queue_document(project_context, store)

    def table(console: Console) -> None:
        if document is None:
            console.print(f"Context {project_context.loaded.context} has no replayBudget: no run waits.", markup=False)
            return
        rate = format_rate(document["bytes_per_second"])
        console.print(f"budget    {rate}, {document['used']} of {document['slots']} slots in use", markup=False)
        rows = [(each["run"], each["state"], each["priority"], each["why"]) for each in document["runs"]]
        if rows:
            print_table(console, ("run", "state", "priority", "why"), rows)

    emit(document, output, table)


@queue.command()
def priority(
    run: RunId,
    priority: Annotated[
        int,
        typer.Argument(
            min=LEAST_PRIORITY,
            max=MOST_PRIORITY,
            metavar="PRIORITY",
            help=f"{LEAST_PRIORITY} to {MOST_PRIORITY}; {USUAL_PRIORITY} unless set. Twice the priority is twice the "
            "share; in the queue each ten minutes of waiting count as one more.",
        ),
    ],
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Change a run's priority in the replay budget and its queue."""
    from anabranch.app.approval import require_steering
    from anabranch.app.backfill import operator
    from anabranch.app.replay_holds import budget_board

    with open_run(run, project, context) as backfill:
        require_steering(backfill, "change the priority of")
        budget_board(backfill.store).set_priority(backfill.run_id, priority, actor=operator()[1])
        document = {"run": backfill.run_id, "priority": priority, "next": "anabranch queue"}
    emit(
        document,
        output,
        lambda console: console.print(f"Run {document['run']} has priority {priority}.", markup=False),
    )
    say_next("anabranch queue")
