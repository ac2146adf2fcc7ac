"""`anabranch rehearse`: replay a few slices into a scratch branch and forecast the duration of the whole backfill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.options import ContextName, ContractFile, ProjectFolder, SliceSize
from anabranch.cli.output import Format, Output, emit, print_facts, say, say_next
from anabranch.gates.impact.effect import LEAST_PAIRS, MOST_PAIRS

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.plan.forecast.pricing import BackfillForecast
    from anabranch.plan.forecast.rehearsed import Rehearsed
    from anabranch.plan.planner import Planned


def rehearse(
    file: ContractFile,
    slice_size: SliceSize = None,
    pairs: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_PAIRS,
            help="Then measure the effect on live: pairs of blocks with and without the replay, of 20 s or more each. "
            f"Fewer than {LEAST_PAIRS} give no 95 % statement.",
        ),
    ] = 0,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Replay a few slices beside live and measure every stage. Promotes nothing.

    The result is valid for a week; `plan`, `cost`, `advise` and the capacity gate use it.
    """
    from datetime import datetime, timezone

    from anabranch.app.backfill import operator
    from anabranch.app.forecast import forecast_backfill
    from anabranch.app.planning import plan_backfill
    from anabranch.app.project_context import open_project
    from anabranch.app.rehearsal import build_rehearsal
    from anabranch.cli.impact import impact_document, print_impact
    from anabranch.gates.impact.stored import newest_impact

    project_context, now = open_project(project, context), datetime.now(timezone.utc)
    planned = plan_backfill(project_context, file, now=now, offsets_per_slice=slice_size)
    request = planned.request
    say(f"Rehearsal of {request.backfill.metadata.name}. Production unchanged.")
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
            say,
            pairs,
        )
        found, evidence = rehearsal(now)
        impact = newest_impact(store.reader, planned.plan, request.backfill) if pairs else None
    forecast = forecast_backfill(project_context, planned, datetime.now(timezone.utc), found)
    document: dict[str, Any] = {
        "pipeline": planned.plan.pipeline,
        "plan": planned.plan.hash,
        "found": dict(evidence.found),
    }
    document["impact"] = None if impact is None else impact_document(impact)

    def table(console: Console) -> None:
        _table(console, found, forecast)
        if impact is not None:
            print_impact(console, impact)

    emit({**document, **forecast.document()}, output, table)
    say_next(f"anabranch apply -f {file}")


def _bytes_per_record(planned: Planned) -> float | None:
    """By the topic's size on disk; None: the broker does not report it."""
    estimates = planned.estimates
    return None if estimates.bytes is None else estimates.bytes / max(1, estimates.offsets)


def _table(console: Console, found: Rehearsed, forecast: BackfillForecast) -> None:
    from anabranch.cli.render_forecast import forecast_facts
    from anabranch.project.quantities import format_rate

    limit = found.bytes_per_second_limit
    limited = "" if limit is None else f", limited to {format_rate(limit)} by the contract"
    stages = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in found.stages.items())
    lag = [_or_unknown(each) for each in (found.live_lag_with, found.live_lag_without)]
    latency = [_or_unknown(each, " s") for each in (found.live_latency_with, found.live_latency_without)]
    rate = f"{found.records_per_second:,.0f} records/s, {format_rate(found.bytes_per_second)}"
    facts = (
        ("rate", f"{rate}{limited}"),
        ("bottleneck", f"{found.bottleneck} ({stages})"),
        ("live lag", f"{lag[0]} during the replay, {lag[1]} without"),
        ("live latency", f"{latency[0]} during the replay, {latency[1]} without"),
        ("commit", f"{found.commit_seconds:.2f} s"),
        ("validation", f"{found.validate_seconds_per_million_rows:,.1f} s per million rows"),
        ("promotion", f"{found.promote_seconds:.2f} s; rollback {found.rollback_seconds:.2f} s"),
    )
    print_facts(console, (*facts, *forecast_facts(forecast)))
    for caution in forecast.cautions:
        console.print(f"warning   {caution.words}  [{caution.code}]", markup=False)


def _or_unknown(value: float | None, unit: str = "") -> str:
    return "unknown" if value is None else f"{value:,.3g}{unit}" if unit else f"{value:,}"
