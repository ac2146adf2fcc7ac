"""`anabranch live`: the pipeline on new events as they come, started, looked at and stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.under_way import note_look
from anabranch.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.live.process import LivePipeline
    from anabranch.live.status import LiveStatus

live = typer.Typer(name="live", help="Run a pipeline on new events as they come.", no_args_is_help=True)

Pipeline = Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.", show_default=False)]
Project = Annotated[Path, typer.Option("--project", help="The project's folder, or any folder inside it.")]
Context = Annotated[
    str | None,
    typer.Option(help="The context to run in.", show_default="ANABRANCH_CONTEXT, or the project's default"),
]


@live.command()
def start(
    pipeline: Pipeline,
    project: Project = Path(),
    context: Context = None,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Run here until Ctrl-C, which ends it after the batch at hand.")
    ] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between the beginnings of two batches.")] = 1.0,
    max_offsets: Annotated[int, typer.Option(min=1, help="The most offsets in one batch.")] = 200_000,
    output: Output = Format.TABLE,
) -> None:
    """Start live, and return once it runs. The target table is made if it is not there. Again is no change."""
    from anabranch.live.pace import LivePace

    note_look(f"anabranch live status {pipeline}")
    pace = LivePace(interval, max_offsets)
    if foreground:
        from anabranch.app.project_context import open_project
        from anabranch.live.main import run_here

        run_here(open_project(project, context), pipeline, pace, stderr().print)
        return
    _show(_live(pipeline, project, context).start(pace), output)


@live.command()
def status(
    pipeline: Pipeline, project: Project = Path(), context: Context = None, output: Output = Format.TABLE
) -> None:
    """Say how live is: its process, batches, rate, lag and code. Exit code 0 if it runs, 1 if not."""
    from anabranch.live.status import LiveState

    found = _live(pipeline, project, context).status()
    _show(found, output)
    if found.state is not LiveState.RUNNING:
        raise typer.Exit(int(ExitCode.FAILED))


@live.command()
def stop(
    pipeline: Pipeline,
    project: Project = Path(),
    context: Context = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for the batch at hand before a kill.")
    ] = 120.0,
    output: Output = Format.TABLE,
) -> None:
    """Stop live after the batch at hand, and say whether it had to be killed. Nothing is lost or doubled either way."""
    note_look(f"anabranch live status {pipeline}")
    how = _live(pipeline, project, context).stop(patience=patience)
    document = {"pipeline": pipeline, "stopped": how.value}
    emit(document, output, lambda console: console.print(f"live {pipeline}: {_words(how.value)}"))


def _words(how: str) -> str:
    return how if how.startswith("was") else f"stopped, {how}"


def _live(pipeline: str, project: Path, context: str | None) -> LivePipeline:
    from anabranch.app.project_context import open_project
    from anabranch.live.process import LivePipeline

    return LivePipeline(open_project(project, context), pipeline, say=stderr().print)


def _show(status: LiveStatus, output: Format) -> None:
    emit(status.as_dict(), output, lambda console: _table(status, console))


def _table(status: LiveStatus, console: Console) -> None:
    from rich.table import Table

    told = status.as_dict()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    table.add_row("live", f"{status.pipeline}: {status.state.value}")
    if status.pid is not None:
        table.add_row("process", str(status.pid))
    if last := told["last_batch"]:
        counts = f"{last['records']:,} records, {last['rows']:,} rows, {last['quarantined']:,} quarantined"
        table.add_row("last batch", f"{last['batch']}: {counts}, {last['seconds']:.1f} s")
    if since := told["since_start"]:
        table.add_row(
            "since start", f"{since['batches']:,} batches, {since['records']:,} records, {since['rows']:,} rows"
        )
        if since["late"]:
            table.add_row("late", f"{since['late']:,} events came after their window was written, and are not in it")
    if told["records_per_second"] is not None:
        table.add_row("rate", f"{told['records_per_second']:,.0f} records/s")
    if told["event_time"] is not None:
        table.add_row("event time", told["event_time"])
    table.add_row("lag", "unknown: Kafka does not answer" if status.lag is None else _lag(status))
    if told["code"] is not None:
        differs = "; the files on the disk are other code, which counts from the next start"
        table.add_row("code", f"{told['code'][:12]}{differs if status.code_differs else ''}")
    if told["group_error"] is not None:
        table.add_row("group", f"does not show the progress: {told['group_error']}")
    for service, since in told["silent"].items():
        table.add_row("waits for", f"{service}, which does not answer since {since[:19]}Z")
    if status.record is not None and (error := status.record.error) is not None:
        table.add_row("ended", f"{error['what']}  [{error['code']}]")
        for label, key in (("run", "command"), ("hint", "hint")):
            if error[key]:
                table.add_row(label, str(error[key]))
    table.add_row("log", str(status.log))
    console.print(table)


def _lag(status: LiveStatus) -> str:
    if status.lag is None:
        return ""
    behind = ", ".join(f"{p}: {lag:,}" for p, lag in status.lag.partitions.items() if lag)
    return f"{status.lag.total:,} records{f' ({behind})' if behind else ''}"
