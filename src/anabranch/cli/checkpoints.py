"""`anabranch checkpoints`: the states of a pipeline that a replay may start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit
from anabranch.cli.place import ContextName, ProjectFolder

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from anabranch.wiring.checkpoints import Checkpoints


def checkpoints(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.")],
    before: Annotated[
        str | None,
        typer.Option(help="Mark the last one with no event from this moment on: 2025-06-01T00:00:00Z."),
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """List the states that a replay may start from, with their offsets and the event time they have reached."""
    from anabranch.live.pipelines import find_pipeline
    from anabranch.wiring.checkpoints import find_checkpoints
    from anabranch.wiring.workplace import open_workplace

    workplace = open_workplace(project, context)
    found = find_checkpoints(workplace, find_pipeline(workplace.loaded, pipeline).pipeline, _moment(before))
    emit(found.document(), output, lambda console: _table(console, found))


def _moment(text: str | None) -> datetime | None:
    from pydantic_core import PydanticCustomError

    from anabranch.project.quantities import parse_moment

    try:
        return None if text is None else parse_moment(text)
    except PydanticCustomError as error:
        raise typer.BadParameter(f"{text!r} is not a moment: write 2025-06-01T00:00:00Z") from error


def _table(console: Console, found: Checkpoints) -> None:
    from rich.table import Table

    if not found.states:
        console.print(f"{found.table} has no state that a replay may start from: it starts from the beginning.")
        return
    table = Table("", "snapshot", "tag", "offsets", "event time", "committed", box=None, header_style="dim")
    for row in found.document()["checkpoints"]:
        offsets = ", ".join(f"{partition}: {end:,}" for partition, end in row["offsets"].items())
        mark = "last good" if row["last_good"] else ""
        table.add_row(mark, str(row["snapshot"]), row["tag"] or "", offsets, row["event_time"] or "", row["at"])
    console.print(table)
    if found.before is not None and found.last_good is None:
        console.print("None of them is from before that moment: a replay starts from the beginning.")
