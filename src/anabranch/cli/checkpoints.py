"""`anabranch checkpoints`: what a replay of a pipeline may start from, and what two states of its stream differ in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from anabranch.readiness.start_points import StartPoints
    from anabranch.replay.state_comparison import StateComparison


def checkpoints(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.")],
    before: Annotated[
        str | None,
        typer.Option(help="Mark the last one with no event from this moment on: 2025-06-01T00:00:00Z."),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Instead, compare two states of the stream by key: checkpoints, or stream-faithful runs.",
        ),
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """List the states that a replay may start from, with their offsets and the event time they have reached."""
    from anabranch.app.checkpoints import find_checkpoints
    from anabranch.app.project_context import open_project
    from anabranch.app.stream_states import compare_by_name
    from anabranch.live.pipelines import find_pipeline

    project_context = open_project(project, context)
    chosen = find_pipeline(project_context.loaded, pipeline).pipeline
    if compare is not None:
        stderr().print("Starting Spark to read both states …", markup=False)
        compared = compare_by_name(project_context, chosen, *compare)
        emit(compared.document(), output, lambda console: _differences(console, compared))
        return
    found = find_checkpoints(project_context, chosen, _moment(before))
    emit(found.document(), output, lambda console: _tables(console, found))


def _moment(text: str | None) -> datetime | None:
    from pydantic_core import PydanticCustomError

    from anabranch.project.quantities import parse_moment

    try:
        return None if text is None else parse_moment(text)
    except PydanticCustomError as error:
        raise typer.BadParameter(f"{text!r} is not a moment: write 2025-06-01T00:00:00Z") from error


def _tables(console: Console, found: StartPoints) -> None:
    if not found.states and not found.streams:
        console.print(f"{found.table} has no state that a replay may start from: it starts from the beginning.")
        return
    rows: list[dict[str, Any]] = found.document()["checkpoints"]
    _show(console, [row for row in rows if row["kind"] == "table"], ("snapshot", "tag", "event_time", "at"))
    _show(console, [row for row in rows if row["kind"] == "stream"], ("name", "batch", "event_time", "watermark", "at"))
    if found.before is not None and found.last_good is None and found.last_good_stream is None:
        console.print("None of them is from before that moment: a replay starts from the beginning.")


def _show(console: Console, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    from rich.table import Table

    if not rows:
        return
    names = {"name": "stream checkpoint", "event_time": "event time", "at": "committed"}
    table = Table("", "offsets", *(names.get(each, each) for each in columns), box=None, header_style="dim")
    for row in rows:
        offsets = ", ".join(f"{partition}: {end:,}" for partition, end in row["offsets"].items())
        texts = ("" if row[each] is None else str(row[each]) for each in columns)
        table.add_row("last good" if row["last_good"] else "", offsets, *texts)
    console.print(table)


def _differences(console: Console, compared: StateComparison) -> None:
    from rich.table import Table
    from rich.text import Text

    a, b = compared.a, compared.b
    if not compared.same_place:
        console.print(f"{a.name} and {b.name} don't stand at the same offsets and watermark: they need not agree.")
    for store in compared.stores:
        console.print(
            f"operator {store.operator}, {store.store}: {store.same:,} keys the same, {store.different:,} different, "
            f"{store.only_a:,} only in {a.name}, {store.only_b:,} only in {b.name}",
            markup=False,
        )
        if store.first:
            table = Table("key", a.name, b.name, box=None, header_style="dim")
            for each in store.first:
                table.add_row(*(Text(text or "") for text in (each.key, each.a, each.b)))
            console.print(table)
