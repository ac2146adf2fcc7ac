"""`anabranch plan`: what a backfill will do, decided and pinned with nothing changed and no JVM started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import Control
from anabranch.plan.slices import SIZE_IN_WORDS

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.plan.forecast.pricing import BackfillForecast
    from anabranch.plan.planner import Planned
    from anabranch.promote.capabilities import Capabilities

STEPS_SHOWN = 12


def plan(
    file: Annotated[Path, typer.Option("--file", "-f", help="The contract.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the plan to this file, to apply exactly it.", show_default=False)
    ] = None,
    slice_size: Annotated[
        int | None,
        typer.Option(min=1, help="Offsets in one slice.", show_default=SIZE_IN_WORDS),
    ] = None,
    control: Control = False,
    project: Annotated[Path, typer.Option("--project", help="The project's folder, or any folder inside it.")] = Path(),
    context: Annotated[
        str | None,
        typer.Option(help="The context to plan for.", show_default="ANABRANCH_CONTEXT, or the project's default"),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Say what a backfill will do: offsets, slices, what is replaced, and every step. Changes nothing."""
    from datetime import datetime, timezone

    from anabranch.app.forecast import forecast_backfill
    from anabranch.app.planning import plan_backfill
    from anabranch.app.project_context import open_project
    from anabranch.app.targets import capabilities_of
    from anabranch.plan.plan_file import document_of_planned, write_plan_file

    project_context = open_project(project, context)
    now = datetime.now(timezone.utc)
    planned = plan_backfill(project_context, file, now=now, offsets_per_slice=slice_size, control=control)
    if out is not None:
        write_plan_file(out, planned)
    prospect = forecast_backfill(project_context, planned, now)
    capabilities = capabilities_of(planned.plan.strategy)
    target = {"target": {"capabilities": capabilities.document()}}
    document = {**document_of_planned(planned), **target, **prospect.document()}
    emit(document, output, lambda console: _table(console, planned, capabilities, prospect))
    asked = f"-f {file}{' --control' if control else ''}"
    apply = f"anabranch apply {asked if out is None else out}"
    stderr().print(f"next      {apply}", markup=False)


def _table(console: Console, planned: Planned, capabilities: Capabilities, prospect: BackfillForecast) -> None:
    from rich.table import Table

    from anabranch.cli.plan_words import capability_words, facts_of, offsets_of, replaced, steps_shown
    from anabranch.cli.prospect_words import prospect_words

    def section(title: str) -> None:
        console.print(f"\n{title}", style="bold", markup=False)

    console.print(f"plan {planned.plan.hash}", style="bold", markup=False)
    for line in replaced(planned):
        console.print(f"  {line}", markup=False)
    section("offsets")
    offsets = Table("partition", "from", "to", "offsets", "live stands at", "ends by", box=None, pad_edge=True)
    for row in offsets_of(planned):
        offsets.add_row(*row)
    console.print(offsets)
    section("facts")
    facts = Table(box=None, show_header=False, pad_edge=True)
    for name, value in facts_of(planned):
        facts.add_row(name, value)
    console.print(facts)
    section("target")
    promises = Table(box=None, show_header=False, pad_edge=True)
    for name, value in capability_words(capabilities):
        promises.add_row(name, value)
    console.print(promises)
    section("steps")
    for line in steps_shown(planned, STEPS_SHOWN):
        console.print(f"  {line}", markup=False)
    section("window and cost")
    prospects = Table(box=None, show_header=False, pad_edge=True)
    for name, value in prospect_words(prospect):
        prospects.add_row(name, value)
    console.print(prospects)
    cautions = (*planned.outlook.cautions, *prospect.cautions)
    if cautions:
        section("cautions")
        for caution in cautions:
            console.print(f"  {caution.words}  [{caution.code}]", markup=False)
