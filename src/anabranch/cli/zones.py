"""`anabranch zones`: the zone map, which tells a plan the event times of every block of offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.options import ContextName, PipelineName, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table, say_next, stderr

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.app.zones import PipelineZones
    from anabranch.plan.offsets.zone_summary import Covered
    from anabranch.plan.slices import Slice

zones = typer.Typer(
    name="zones", help="Build and show the zone map: event times by block of offsets.", no_args_is_help=True
)


@zones.command()
def build(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Count every block again, for example after a log compaction.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Count the offsets that no zone covers, on Spark. An interrupted build continues where it stopped."""
    work = _work(pipeline, project, context)
    slices = work.all() if rebuild else work.missing()
    if slices:
        with _progress(sum(slice_.width for slice_ in slices)) as done:
            work.build(slices, done)
    _show(work, output)


@zones.command()
def show(
    pipeline: PipelineName,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Show what the zone map covers. Prints offsets, event times, and how late events arrive. Starts no JVM."""
    _show(_work(pipeline, project, context), output)


def _work(pipeline: str, project: Path, context: str | None) -> PipelineZones:
    from anabranch.app.project_context import open_project
    from anabranch.app.zones import PipelineZones
    from anabranch.live.pipelines import find_pipeline

    project_context = open_project(project, context)
    return PipelineZones(project_context, find_pipeline(project_context.loaded, pipeline))


def _show(work: PipelineZones, output: Format) -> None:
    covered = work.summary()
    document: dict[str, Any] = {
        "pipeline": work.loaded.name,
        "topic": {"name": work.topic.name, "uuid": work.topic.uuid},
        "reading": work.key.reading,
        "table": work.table,
        "partitions": [each.document() for each in covered],
    }
    emit(document, output, lambda console: _table(console, work, covered))
    if any(each.counted < each.offsets for each in covered):
        say_next(f"anabranch zones build {work.loaded.name}")


def _table(console: Console, work: PipelineZones, covered: tuple[Covered, ...]) -> None:
    from datetime import timedelta

    from anabranch.plan.offsets.zone_summary import moment_text
    from anabranch.project.quantities import format_duration

    console.print(f"zone map of {work.topic.name} in {work.table}", style="bold", markup=False)
    headings = ("partition", "offsets", "covered", "zones", "records", "first event", "last event", "late", "by up to")
    rows = []
    for each in covered:
        share = each.counted / each.offsets if each.offsets else 1.0
        late = each.late / each.records if each.records else 0.0
        row = (
            each.partition,
            f"{each.offsets:,}",
            f"{share:.1%}",
            f"{each.zones:,}",
            f"{each.records:,}",
            moment_text(each.first) or "",
            moment_text(each.last) or "",
            f"{late:.2%}",
            format_duration(timedelta(seconds=min(each.latest_by // 1_000_000, 10**10))) or "0s",
        )
        rows.append(row)
    print_table(console, headings, rows, indent=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[Slice], None]]:
    """A bar with the time left on a terminal, a line per job elsewhere."""
    console, counted = stderr(), 0
    if not console.is_terminal:

        def line(slice_: Slice) -> None:
            nonlocal counted
            counted += slice_.width
            console.print(f"counted {counted:,} of {total:,} offsets  {counted / total:>4.0%}", markup=False)

        yield line
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"counting {total:,} offsets", total=total)
        yield lambda slice_: bar.advance(task, slice_.width)
