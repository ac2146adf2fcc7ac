"""`anabranch advise`: compare a backfill with the alternatives for wrong rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ContractFile, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table, say_next

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.readiness.advice import Advice
    from anabranch.readiness.incident import Incident


def advise(
    file: ContractFile,
    affected_rows: Annotated[
        int | None, typer.Option(min=0, help="Wrong rows in the range.", show_default="all of them")
    ] = None,
    tolerate: Annotated[
        str, typer.Option(help="Share of wrong rows that readers of the table accept, such as 0.1%.")
    ] = "0%",
    archive: Annotated[
        str | None,
        typer.Option(help="A table with the raw records, as database.table.", show_default="none"),
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Compare a backfill with the other ways to correct rows.

    The others are compensating events, a refresh from the lake, and no correction.

    Shows time, cost and effect on readers of each, and recommends one with the reason. Read-only; starts no JVM.
    """
    from datetime import datetime, timezone

    from anabranch.app.advice import incident_of
    from anabranch.app.cost import price_of
    from anabranch.app.project_context import open_project
    from anabranch.readiness.advice import Way
    from anabranch.readiness.advice import advise as weigh
    from anabranch.readiness.advise import AdviceInput

    given = AdviceInput(affected_rows, _share(tolerate), archive)
    project_context = open_project(project, context)
    damage = incident_of(project_context, file, given, now=datetime.now(timezone.utc))
    advice = weigh(damage, price_of(project_context))
    document = {**advice.document(), "live": damage.live.value, "readers": damage.readers.document()}
    emit(document, output, lambda console: _table(console, advice, damage))
    if advice.recommended is Way.BACKFILL:
        say_next(f"anabranch plan -f {file}")


def _share(text: str) -> float:
    from pydantic_core import PydanticCustomError

    from anabranch.project.quantities import parse_percentage

    try:
        return parse_percentage(text)
    except PydanticCustomError as error:
        raise typer.BadParameter(f"{text!r} is not a share; example: 0.1%") from error


def _table(console: Console, advice: Advice, damage: Incident) -> None:
    from rich.text import Text

    from anabranch.readiness.advice import time_words

    rows: list[tuple[Text, ...]] = []
    for option in advice.options:
        chosen = option.way is advice.recommended
        words = option.effect if option.obstacle is None else f"not possible: {option.obstacle}"
        style = "bold" if chosen else "" if option.obstacle is None else "dim"
        cells = (time_words(option.time), "no price" if option.cost is None else str(option.cost), words)
        shown = cells if option.obstacle is None else ("", "", words)
        mark = Text("→" if chosen else "", "green")
        rows.append((mark, Text(option.way.value, style), *(Text(each, style) for each in shown)))
    print_table(console, ("", "option", "time", "cost", "effect on readers"), rows)
    console.print()
    console.print(Text.assemble(("recommended  ", "dim"), (advice.recommended.value, "bold"), f": {advice.reason}"))
    for step in advice.first:
        console.print(Text.assemble(("first        ", "dim"), step))
    console.print(Text.assemble(("topic        ", "dim"), damage.readers.of_the_topic()))
    console.print(Text.assemble(("table        ", "dim"), damage.readers.of_the_table()))
