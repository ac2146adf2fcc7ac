"""`anabranch drill`: replay a small range beside production, discard it, and report the readiness for an incident."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from anabranch.cli.options import ContextName, PipelineName, ProjectFolder
from anabranch.cli.output import STYLES, Format, Output, emit, print_table, say, say_next

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
    help="Run and list readiness drills. `anabranch drill PIPELINE` runs one.",
    no_args_is_help=True,
)


@drill.command()
def run(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Replay a small range and answer four readiness questions.

    The range is replayed beside production, validated and discarded; nothing is promoted. The result is recorded;
    `anabranch drill history` shows it. Exit code 3 if an answer is red.
    """
    from contextlib import ExitStack
    from datetime import datetime, timezone

    from anabranch.app.backfill import BackfillRun, operator
    from anabranch.app.drill import build_drill
    from anabranch.app.project_context import open_project
    from anabranch.cli.run_progress import RunProgress, run_progress
    from anabranch.errors import ExitCode
    from anabranch.gates.colour import Colour
    from anabranch.live.pipelines import find_pipeline

    project_context = open_project(project, context)
    loaded = find_pipeline(project_context.loaded, pipeline)
    say(f"Drill of {pipeline}. Production unchanged.")
    with project_context.store() as store, ExitStack() as screen:

        def take(run_id: str) -> BackfillRun:
            return BackfillRun(project_context, store, run_id)

        def watch(run: BackfillRun) -> RunProgress:
            progress = run_progress(sum(slice_.width for slice_ in run.plan.slices), run.lag)
            screen.enter_context(progress.shown())
            return progress

        run_drill = build_drill(project_context, store, loaded, take, operator()[1])
        found = run_drill(watch, datetime.now(timezone.utc))
    emit(found.document(), output, lambda console: _answers(console, found))
    say_next(f"anabranch drill history {pipeline}")
    if found.colour is Colour.RED:
        raise typer.Exit(int(ExitCode.REFUSED))


@drill.command()
def history(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """List the recorded drills of a pipeline, newest last. Prints their recovery times."""
    from datetime import datetime, timezone

    from anabranch.app.project_context import open_project
    from anabranch.live.pipelines import find_pipeline
    from anabranch.readiness.drill_report import drill_history
    from anabranch.runs.canonical import instant_text

    project_context = open_project(project, context)
    find_pipeline(project_context.loaded, pipeline)
    now = datetime.now(timezone.utc)
    with project_context.store(create=False) as store:
        past = drill_history(store.reader, pipeline)
    document = [
        {
            "at": instant_text(each.at),
            "by": each.by,
            "good_until": None if each.good_until is None else instant_text(each.good_until),
            "counts": each.counts(now),
            **each.found,
        }
        for each in past
    ]
    emit(document, output, lambda console: _print_history(console, past, now))
    if not past or not past[-1].counts(now):
        say_next(f"anabranch drill {pipeline}")


def _answers(console: Console, found: DrillReport) -> None:
    from rich.text import Text

    for each in (*found.answers, found.recovery):
        console.print(Text.assemble(("● ", STYLES[each.colour.value]), (each.question, "bold")))
        console.print(Text(f"  {each.words}", overflow="fold"))


def _print_history(console: Console, past: Sequence[Evidence], now: datetime) -> None:
    from rich.text import Text

    if not past:
        console.print("No drill is recorded.")
        return
    rows = []
    for each in past:
        found: Mapping[str, Any] = each.found
        figures = found["recovery"]["figures"]
        until = "" if each.good_until is None else f"{each.good_until:%Y-%m-%d}"
        row = (
            Text("●", STYLES[found["colour"]]),
            f"{each.at:%Y-%m-%d %H:%M}",
            each.by,
            found["run"],
            f"{figures['recovery_seconds']:,.1f} s",
            f"{figures['records_per_second']:,.0f}",
            until if each.counts(now) else f"{until} (expired)",
        )
        rows.append(row)
    print_table(console, ("", "at", "by", "run", "recovery", "records/s", "valid until"), rows)
