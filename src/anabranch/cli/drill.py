"""`anabranch drill`: replay a little beside production, throw it away, and answer what an incident would ask."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rich.console import Console

    from anabranch.gates.evidence import Evidence
    from anabranch.readiness.drill_report import DrillReport


class _PipelineOrCommand(TyperGroup):
    """`anabranch drill orders` is `anabranch drill run orders`: what is not a command is a pipeline."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        named = args and not args[0].startswith("-") and args[0] not in self.commands
        return super().resolve_command(ctx, ["run", *args] if named else args)


drill = typer.Typer(
    name="drill",
    cls=_PipelineOrCommand,
    help="Readiness drills: `anabranch drill PIPELINE` carries one out.",
    no_args_is_help=True,
)

PipelineName = Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.", show_default=False)]
STYLES = {"green": "green", "yellow": "yellow", "red": "bold red"}


@drill.command()
def run(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Replay a small range beside production, validate it, remove it again, and answer four questions from that.

    Nothing is promoted. What was found is kept; `anabranch drill history` shows it. Exit code 3 if an answer is red.
    """
    from contextlib import ExitStack
    from datetime import datetime, timezone

    from anabranch.app.backfill import BackfillRun, operator
    from anabranch.app.drill import build_drill
    from anabranch.app.project_context import open_project
    from anabranch.cli.watching import Watching, watching
    from anabranch.errors import ExitCode
    from anabranch.gates.colour import Colour
    from anabranch.live.pipelines import find_pipeline

    project_context = open_project(project, context)
    loaded = find_pipeline(project_context.loaded, pipeline)
    stderr().print(f"Drilling {pipeline}: production is not touched.", markup=False)
    with project_context.store() as store, ExitStack() as screen:

        def take(run_id: str) -> BackfillRun:
            return BackfillRun(project_context, store, run_id)

        def watch(run: BackfillRun) -> Watching:
            progress = watching(sum(slice_.width for slice_ in run.plan.slices), run.lag)
            screen.enter_context(progress.shown())
            return progress

        exercise = build_drill(project_context, store, loaded, take, operator()[1])
        found = exercise(watch, datetime.now(timezone.utc))
    emit(found.document(), output, lambda console: _answers(console, found))
    stderr().print(f"next      anabranch drill history {pipeline}", markup=False)
    if found.colour is Colour.RED:
        raise typer.Exit(int(ExitCode.REFUSED))


@drill.command()
def history(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Every drill of a pipeline that is on record, with its recovery time, the newest last."""
    from datetime import datetime, timezone

    from anabranch.app.project_context import open_project
    from anabranch.live.pipelines import find_pipeline
    from anabranch.readiness.drill_report import drill_history
    from anabranch.runs.canonical import instant_text

    project_context = open_project(project, context)
    find_pipeline(project_context.loaded, pipeline)
    now = datetime.now(timezone.utc)
    with project_context.store(create=False) as store:
        kept = drill_history(store.reader, pipeline)
    document = [
        {
            "at": instant_text(each.at),
            "by": each.by,
            "good_until": None if each.good_until is None else instant_text(each.good_until),
            "counts": each.counts(now),
            **each.found,
        }
        for each in kept
    ]
    emit(document, output, lambda console: _past(console, kept, now))
    if not kept or not kept[-1].counts(now):
        stderr().print(f"next      anabranch drill {pipeline}", markup=False)


def _answers(console: Console, found: DrillReport) -> None:
    from rich.text import Text

    for each in (*found.answers, found.recovery):
        console.print(Text.assemble(("● ", STYLES[each.colour.value]), (each.question, "bold")))
        console.print(Text(f"  {each.words}", overflow="fold"))


def _past(console: Console, kept: Sequence[Evidence], now: datetime) -> None:
    from rich.table import Table
    from rich.text import Text

    if not kept:
        console.print("No drill of it is on record.")
        return
    table = Table("", "at", "by", "run", "recovery", "records/s", "counts until", box=None, header_style="dim")
    for each in kept:
        found: Mapping[str, Any] = each.found
        figures = found["recovery"]["figures"]
        until = "" if each.good_until is None else f"{each.good_until:%Y-%m-%d}"
        table.add_row(
            Text("●", STYLES[found["colour"]]),
            f"{each.at:%Y-%m-%d %H:%M}",
            each.by,
            found["run"],
            f"{figures['recovery_seconds']:,.1f} s",
            f"{figures['records_per_second']:,.0f}",
            until if each.counts(now) else f"{until} (over)",
        )
    console.print(table)
