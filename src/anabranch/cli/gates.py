"""`anabranch gates`: every gate with its finding, its owner and what turns it green; overrides and acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from anabranch.cli.options import ContextName, OptionalContractFile, OptionalRunId, ProjectFolder, RequiredReason
from anabranch.cli.output import STYLES, Format, Output, emit, print_table, say

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.gates.collect import GateService
    from anabranch.gates.scorecard import Scorecard


class _ShowByDefault(TyperGroup):
    """`anabranch gates RUN` is `anabranch gates show RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


gates = typer.Typer(
    name="gates",
    cls=_ShowByDefault,
    help="Show, override or acknowledge gates. `gates RUN` or `gates -f CONTRACT` shows them.",
    no_args_is_help=True,
)


@gates.command()
def show(
    run: OptionalRunId = None,
    file: OptionalContractFile = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure/--no-measure",
            help="Measure missing and expired evidence by a probe topic, group, quota and scratch branch, which are "
            "removed afterwards.",
        ),
    ] = True,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Show the scorecard. Green is tested, yellow is designed but not tested, red is unknown or failed.

    A failed check blocks every replay; an unknown answer blocks a high-volume or business-critical one.
    Starts no JVM.
    """
    from anabranch.errors import ExitCode
    from anabranch.pages.gates import render_scorecard
    from anabranch.project.atomic_write import atomic_write

    with _gate_service(run, file, project, context) as (service, page):
        if measure:
            service.measure(say)
        card = service.score()
        if measure:
            service.keep(card)
        page.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(page, render_scorecard(card, service.contract.metadata.name))
        emit({**card.document(), "page": str(page)}, output, lambda console: _table(console, card))
        say(f"page      {page}")
        if card.closed:
            raise typer.Exit(int(ExitCode.REFUSED))


@gates.command()
def override(
    gate: Annotated[str, typer.Argument(metavar="GATE", help="Name of the gate.")],
    run: OptionalRunId = None,
    reason: RequiredReason = "",
    file: OptionalContractFile = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Override a gate. Name and reason are recorded in the audit chain and shown with the run."""
    if not reason.strip():
        raise typer.BadParameter("--reason is required")
    with _gate_service(run, file, project, context) as (service, _):
        recorded = service.override(gate, reason.strip())
        subject = f"run {service.run}" if service.run else f"every run of contract {service.contract.metadata.name}"
        emit(
            {"run": service.run, **recorded.document()},
            output,
            lambda console: console.print(
                f"Overrode gate {recorded.gate} for {subject}, by {recorded.by}.", markup=False
            ),
        )


@gates.command()
def acknowledge(
    run: OptionalRunId = None,
    reason: RequiredReason = "",
    file: OptionalContractFile = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Acknowledge the red gates of a small replay.

    It covers gates whose answer is unknown. Name and reason are recorded. Refused if a check failed, and for a
    high-volume or business-critical replay.
    """
    if not reason.strip():
        raise typer.BadParameter("--reason is required")
    with _gate_service(run, file, project, context) as (service, _):
        card = service.acknowledge(reason.strip())
        emit(card.document(), output, lambda console: _table(console, card))


@contextmanager
def _gate_service(
    run: str | None, file: Path | None, project: Path, context: str | None
) -> Iterator[tuple[GateService, Path]]:
    """The gates of the run or contract, with the store open, and the path of their page."""
    from datetime import datetime, timezone

    from anabranch.app.backfill import operator
    from anabranch.app.gates import gate_service
    from anabranch.app.planning import plan_backfill
    from anabranch.app.project_context import open_project
    from anabranch.cli.options import open_run

    if (run is None) == (file is None):
        raise typer.BadParameter("give a run, or a contract with -f")
    if run is not None:
        with open_run(run, project, context) as backfill:
            yield backfill.gates, backfill.folder / "gates.html"
    elif file is not None:
        project_context = open_project(project, context)
        planned = plan_backfill(project_context, file, now=datetime.now(timezone.utc))
        with project_context.store() as store:
            request = planned.request
            service = gate_service(
                project_context, store, planned.plan, request.backfill, request.pipeline, operator()[1]
            )
            yield service, project_context.state / "gates" / f"{request.backfill.metadata.name}.html"


def _table(console: Console, card: Scorecard) -> None:
    from rich.text import Text

    rows = [
        (Text(each.colour.value, STYLES[each.colour.value]), each.gate, each.words, each.owner, each.to_green)
        for each in card.judgements
    ]
    print_table(console, ("", "gate", "finding", "owner", "to fix"), rows)
    for each in card.overrides.values():
        words = f"overridden: {each.gate}, by {each.by} on {each.at:%Y-%m-%d %H:%M} UTC: {each.reason}"
        console.print(Text(words, "bold magenta", overflow="fold"))
    for red in card.acknowledged.values():
        words = f"red, acknowledged: {red.gate}, by {red.by} on {red.at:%Y-%m-%d %H:%M} UTC: {red.reason}"
        console.print(Text(words, "bold magenta", overflow="fold"))
    counts = ", ".join(f"{number} {colour}" for colour, number in card.counts.items())
    closed = f"; closed by {', '.join(each.gate for each in card.closed)}" if card.closed else ""
    console.print(Text(f"{counts}{closed}.", "bold red" if card.closed else "bold"))
    if any(each.cause == "unknown" for each in card.judgements):
        console.print(Text(f"{card.stakes.words[0].upper()}{card.stakes.words[1:]}.", overflow="fold"))
