"""`anabranch plan`: plan a backfill and pin its inputs. Read-only; starts no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ContractFile, Control, ProjectFolder, SliceSize
from anabranch.cli.output import Format, Output, emit, print_facts, print_table, say_next

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.plan.forecast.pricing import BackfillForecast
    from anabranch.plan.planner import Planned
    from anabranch.plan.quotas import QuotaForecast
    from anabranch.promote.capabilities import Capabilities

STEPS_SHOWN = 12


def plan(
    file: ContractFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the plan to this file, to apply it.", show_default=False)
    ] = None,
    slice_size: SliceSize = None,
    control: Control = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Show what a backfill will do. Prints offsets, slices, the replaced range and every step. Read-only."""
    from datetime import datetime, timezone

    from anabranch.app.forecast import forecast_backfill
    from anabranch.app.planning import plan_backfill
    from anabranch.app.project_context import open_project
    from anabranch.app.quotas import quota_forecast
    from anabranch.app.targets import capabilities_of
    from anabranch.plan.plan_file import document_of_planned, write_plan_file

    project_context = open_project(project, context)
    now = datetime.now(timezone.utc)
    planned = plan_backfill(project_context, file, now=now, offsets_per_slice=slice_size, control=control)
    if out is not None:
        write_plan_file(out, planned)
    forecast = forecast_backfill(project_context, planned, now)
    capabilities = capabilities_of(planned.plan.strategy)
    budget = planned.request.backfill.spec.budget
    quota = quota_forecast(project_context, planned.plan, None if budget is None else budget.bytes_per_second)
    target = {"target": {"capabilities": capabilities.document()}, "quota": quota.document()}
    document = {**document_of_planned(planned), **target, **forecast.document()}
    emit(document, output, lambda console: _table(console, planned, capabilities, forecast, quota))
    arguments = f"-f {file}{' --control' if control else ''}"
    say_next(f"anabranch apply {arguments if out is None else out}")


def _table(
    console: Console,
    planned: Planned,
    capabilities: Capabilities,
    forecast: BackfillForecast,
    quota: QuotaForecast,
) -> None:
    from anabranch.cli.render_forecast import forecast_facts
    from anabranch.cli.render_plan import capability_words, facts_of, offsets_of, replaced, steps_shown
    from anabranch.cli.render_race import HEADINGS, has_limit, race_words, rows_of

    def section(title: str) -> None:
        console.print(f"\n{title}", style="bold", markup=False)

    console.print(f"plan {planned.plan.hash}", style="bold", markup=False)
    for line in replaced(planned):
        console.print(f"  {line}", markup=False)
    section("offsets")
    headings = ("partition", "from", "to", "offsets", "live offset", "ends by")
    print_table(console, headings, offsets_of(planned), indent=True)
    section("facts")
    print_facts(console, [*facts_of(planned), ("broker quota", quota.words)], indent=True)
    section("target")
    print_facts(console, capability_words(capabilities), indent=True)
    if planned.race is not None and has_limit(planned.race):
        section("retention")
        print_table(console, HEADINGS, rows_of(planned.race), indent=True)
        for line in race_words(planned.race):
            console.print(f"  {line}", markup=False)
    section("steps")
    for line in steps_shown(planned, STEPS_SHOWN):
        console.print(f"  {line}", markup=False)
    section("schedule and cost")
    print_facts(console, forecast_facts(forecast), indent=True)
    cautions = (*planned.estimates.cautions, *forecast.cautions)
    if cautions:
        section("warnings")
        for caution in cautions:
            console.print(f"  {caution.words}  [{caution.code}]", markup=False)
