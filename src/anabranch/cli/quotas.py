"""`anabranch quotas`: the broker quotas of this project's replays, and those of others that apply to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anabranch.cli.options import ContextName, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.replay.quota_overview import QuotaOverview

quotas = typer.Typer(name="quotas", help="List broker quotas of replays; remove those of ended runs.")


@quotas.callback(invoke_without_command=True)
def list_quotas(
    invoked: typer.Context,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """List the quotas that runs have set and not removed, and the quotas of others that apply to a replay."""
    if invoked.invoked_subcommand is not None:
        return
    from anabranch.app.project_context import open_project
    from anabranch.app.quotas import quota_overview

    project_context = open_project(project, context)
    with project_context.store() as store:
        overview = quota_overview(project_context, store)
    emit(overview.document(), output, lambda console: _draw(console, overview))


@quotas.command()
def sweep(project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE) -> None:
    """Remove the quotas that ended runs left at the brokers. A quota that another user has changed is left.

    Every command that takes a run's lease does the same first.
    """
    from anabranch.app.backfill import operator
    from anabranch.app.project_context import open_project
    from anabranch.app.quotas import sweep as sweep_context

    project_context = open_project(project, context)
    with project_context.store() as store:
        swept = sweep_context(project_context, store, operator()[1])

    def table(console: Console) -> None:
        for each in swept:
            console.print(each.words, markup=False)
        if not swept:
            console.print("No run of this project has left a quota.")

    emit([each.document() for each in swept], output, table)


def _draw(console: Console, overview: QuotaOverview) -> None:
    rows = [_row(each) for each in overview.document()["ours"]]
    if rows:
        print_table(console, ("run", "entity", "per broker", "state"), rows)
    else:
        console.print("No run of this project has a quota at the brokers.")
    user = overview.user or "unknown: set kafka.quotaUser"
    console.print(f"\nThe brokers know a replay as user {user}. Of several quotas only the first counts:", markup=False)
    for number, each in enumerate(overview.precedence, start=1):
        console.print(f"  {number}. {each}", markup=False)


def _row(each: dict[str, Any]) -> tuple[str, ...]:
    from anabranch.project.quantities import format_rate

    value = each["bytes_per_second"] or each["intended"]
    return each["run"], each["words"], format_rate(value), each["state"]
