"""`anabranch live`: start, show and stop a pipeline on new events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.current_command import note_status_command
from anabranch.cli.options import ContextName, PipelineName, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_facts, stderr
from anabranch.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.live.process import LivePipeline
    from anabranch.live.status import LiveStatus

live = typer.Typer(name="live", help="Run a pipeline on new events.", no_args_is_help=True)


@live.command()
def start(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    foreground: Annotated[
        bool,
        typer.Option("--foreground", help="Run in this process until Ctrl-C, which ends it after the current batch."),
    ] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds from the start of a batch to the next.")] = 1.0,
    max_offsets: Annotated[int, typer.Option(min=1, help="Maximum offsets per batch.")] = 200_000,
    output: Output = Format.TABLE,
) -> None:
    """Start live and return when it runs. Creates the target table if it does not exist. Idempotent."""
    from anabranch.live.pace import LivePace

    note_status_command(f"anabranch live status {pipeline}")
    pace = LivePace(interval, max_offsets)
    if foreground:
        from anabranch.app.project_context import open_project
        from anabranch.live.main import run_here

        run_here(open_project(project, context), pipeline, pace, stderr().print)
        return
    _show(_live(pipeline, project, context).start(pace), output)


@live.command()
def status(
    pipeline: PipelineName, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Show process, batches, rate, lag and code of live. Exit code 0 if it runs, otherwise 1."""
    from anabranch.live.status import LiveState

    found = _live(pipeline, project, context).status()
    _show(found, output)
    if found.state is not LiveState.RUNNING:
        raise typer.Exit(int(ExitCode.FAILED))


@live.command()
def stop(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for the current batch before the process is killed.")
    ] = 120.0,
    output: Output = Format.TABLE,
) -> None:
    """Stop live after its current batch. Kills it after --patience seconds. No record is lost or duplicated."""
    note_status_command(f"anabranch live status {pipeline}")
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
    from anabranch.validate.result import counted

    shown = status.as_dict()
    rows: list[tuple[str, object]] = [("live", f"{status.pipeline}: {status.state.value}")]
    if status.pid is not None:
        rows.append(("process", str(status.pid)))
    if last := shown["last_batch"]:
        counts = f"{last['records']:,} records, {last['rows']:,} rows, {last['quarantined']:,} quarantined"
        rows.append(("last batch", f"{last['batch']}: {counts}, {last['seconds']:.1f} s"))
    if since := shown["since_start"]:
        batches = counted(since["batches"], "batch", "batches")
        rows.append(("since start", f"{batches}, {since['records']:,} records, {since['rows']:,} rows"))
        if since["late"]:
            rows.append(("late", f"{since['late']:,} events arrived after their window was written and are not in it"))
    if shown["records_per_second"] is not None:
        rows.append(("rate", f"{shown['records_per_second']:,.0f} records/s"))
    if shown["event_time"] is not None:
        rows.append(("event time", shown["event_time"]))
    rows.append(("lag", "unknown: Kafka does not answer" if status.lag is None else _lag(status)))
    if shown["code"] is not None:
        differs = "; the files on disk differ and take effect at the next start"
        rows.append(("code", f"{shown['code'][:12]}{differs if status.code_differs else ''}"))
    if shown["group_error"] is not None:
        rows.append(("group", f"offsets not committed: {shown['group_error']}"))
    for service, since in shown["silent"].items():
        rows.append(("waits for", f"{service}, no answer since {since[:19]}Z"))
    if status.record is not None and (error := status.record.error) is not None:
        rows.append(("ended", f"{error['what']}  [{error['code']}]"))
        for label, key in (("run", "command"), ("hint", "hint")):
            if error[key]:
                rows.append((label, str(error[key])))
    rows.append(("log", str(status.log)))
    print_facts(console, rows)


def _lag(status: LiveStatus) -> str:
    if status.lag is None:
        return ""
    behind = ", ".join(f"{p}: {lag:,}" for p, lag in status.lag.partitions.items() if lag)
    return f"{status.lag.total:,} records{f' ({behind})' if behind else ''}"
