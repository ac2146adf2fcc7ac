"""`anabranch checkpoints`: the states that a replay can start from, and differences between two stream states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.options import ContextName, PipelineName, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table, say

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from anabranch.readiness.start_points import StartPoints
    from anabranch.replay.state_comparison import StateComparison


def checkpoints(
    pipeline: PipelineName,
    before: Annotated[
        str | None,
        typer.Option(help="Mark the last state before this event time, such as 2025-06-01T00:00:00Z."),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Compare two stream states by key instead: checkpoints or stream-faithful runs.",
        ),
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """List the states that a replay can start from. Prints their offsets and event times."""
    from anabranch.app.checkpoints import find_checkpoints
    from anabranch.app.project_context import open_project
    from anabranch.app.stream_states import compare_by_name
    from anabranch.live.pipelines import find_pipeline

    project_context = open_project(project, context)
    chosen = find_pipeline(project_context.loaded, pipeline).pipeline
    if compare is not None:
        say("Starting Spark to read both states.")
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
        raise typer.BadParameter(f"{text!r} is not a time; example: 2025-06-01T00:00:00Z") from error


def _tables(console: Console, found: StartPoints) -> None:
    if not found.states and not found.streams:
        console.print(f"{found.table} has no state that a replay can start from: it starts at the first offset.")
        return
    rows: list[dict[str, Any]] = found.document()["checkpoints"]
    _show(console, [row for row in rows if row["kind"] == "table"], ("snapshot", "tag", "event_time", "at"))
    _show(console, [row for row in rows if row["kind"] == "stream"], ("name", "batch", "event_time", "watermark", "at"))
    if found.before is not None and found.last_good is None and found.last_good_stream is None:
        console.print("No state is from before that time: a replay starts at the first offset.")


def _show(console: Console, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    if not rows:
        return
    names = {"name": "stream checkpoint", "event_time": "event time", "at": "committed"}
    cells = (
        (
            "last good" if row["last_good"] else "",
            ", ".join(f"{partition}: {end:,}" for partition, end in row["offsets"].items()),
            *(row[each] for each in columns),
        )
        for row in rows
    )
    print_table(console, ("", "offsets", *(names.get(each, each) for each in columns)), cells)


def _differences(console: Console, compared: StateComparison) -> None:
    a, b = compared.a, compared.b
    if not compared.same_place:
        console.print(f"{a.name} and {b.name} have different offsets or watermarks, so they may differ.")
    for store in compared.stores:
        console.print(
            f"operator {store.operator}, {store.store}: {store.same:,} equal keys, {store.different:,} different, "
            f"{store.only_a:,} only in {a.name}, {store.only_b:,} only in {b.name}",
            markup=False,
        )
        if store.first:
            print_table(console, ("key", a.name, b.name), ((each.key, each.a, each.b) for each in store.first))
