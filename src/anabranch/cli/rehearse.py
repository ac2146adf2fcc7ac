"""`anabranch rehearse`: a few slices of a backfill into a scratch place, to tell how long all of it takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.plan.forecast.pricing import BackfillForecast
    from anabranch.plan.forecast.rehearsed import Rehearsed
    from anabranch.plan.planner import Planned


def rehearse(
    file: Annotated[Path, typer.Option("--file", "-f", help="The contract.", show_default=False)],
    slice_size: Annotated[
        int | None, typer.Option(min=1, help="Offsets in one slice.", show_default="as `anabranch plan` cuts them")
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Replay a little of a contract beside live, resting in between, and time every part of it. Promotes nothing.

    What was found is kept for a week; `plan`, `cost`, `advise` and the capacity gate tell from it.
    """
    from datetime import datetime, timezone

    from anabranch.app.backfill import operator
    from anabranch.app.forecast import forecast_backfill
    from anabranch.app.planning import plan_backfill
    from anabranch.app.project_context import open_project
    from anabranch.app.rehearsal import build_rehearsal

    project_context, now = open_project(project, context), datetime.now(timezone.utc)
    planned = plan_backfill(project_context, file, now=now, offsets_per_slice=slice_size)
    request, words = planned.request, stderr()
    words.print(f"Rehearsing {request.backfill.metadata.name}: production is not touched.", markup=False)
    with project_context.store() as store:
        spark = project_context.spark(f"anabranch rehearsal of {planned.plan.pipeline}")
        rehearsal = build_rehearsal(
            project_context,
            store,
            planned.plan,
            request.backfill,
            request.pipeline,
            operator()[1],
            spark,
            _bytes_per_record(planned),
            lambda said: words.print(said, markup=False),
        )
        found, kept = rehearsal(now)
    prospect = forecast_backfill(project_context, planned, datetime.now(timezone.utc), found)
    document = {"pipeline": planned.plan.pipeline, "plan": planned.plan.hash, "found": dict(kept.found)}
    emit({**document, **prospect.document()}, output, lambda console: _table(console, found, prospect))
    words.print(f"next      anabranch apply -f {file}", markup=False)


def _bytes_per_record(planned: Planned) -> float | None:
    """By the topic's size on disk; None: the cluster does not say."""
    outlook = planned.outlook
    return None if outlook.bytes is None else outlook.bytes / max(1, outlook.offsets)


def _table(console: Console, found: Rehearsed, prospect: BackfillForecast) -> None:
    from rich.table import Table

    from anabranch.cli.prospect_words import prospect_words

    rows = Table(box=None, show_header=False)
    limit = found.bytes_per_second_limit
    held = "" if limit is None else f", held to {limit / 1e6:,.1f} MB/s by the contract"
    rows.add_row("rate", f"{found.records_per_second:,.0f} records/s, {found.bytes_per_second / 1e6:,.1f} MB/s{held}")
    stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in found.stages.items())
    rows.add_row("bottleneck", f"{found.bottleneck} ({stages})")
    lag = [_or_unknown(each) for each in (found.live_lag_with, found.live_lag_without)]
    rows.add_row("live lag", f"{lag[0]} beside it, {lag[1]} alone")
    latency = [_or_unknown(each, " s") for each in (found.live_latency_with, found.live_latency_without)]
    rows.add_row("live latency", f"{latency[0]} beside it, {latency[1]} alone")
    rows.add_row("commit", f"{found.commit_seconds:.2f} s")
    rows.add_row("validation", f"{found.validate_seconds_per_million_rows:,.1f} s for a million rows")
    rows.add_row("promotion", f"{found.promote_seconds:.2f} s, and {found.rollback_seconds:.2f} s back")
    for name, value in prospect_words(prospect):
        rows.add_row(name, value)
    console.print(rows)
    for caution in prospect.cautions:
        console.print(f"caution   {caution.words}  [{caution.code}]", markup=False)


def _or_unknown(value: float | None, unit: str = "") -> str:
    return "unknown" if value is None else f"{value:,.3g}{unit}" if unit else f"{value:,}"
