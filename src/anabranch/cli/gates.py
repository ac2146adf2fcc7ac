"""`anabranch gates`: may it happen? Every gate with its evidence, who answers for it and what turns it green."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.gates.collect import GateService
    from anabranch.gates.scorecard import Scorecard


class _ShowsUnlessToldOtherwise(TyperGroup):
    """`anabranch gates RUN` is `anabranch gates show RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


gates = typer.Typer(
    name="gates",
    cls=_ShowsUnlessToldOtherwise,
    help="May it happen? `gates RUN` or `gates -f CONTRACT` shows every gate, `gates override` answers for one.",
    no_args_is_help=True,
)

RunOrNone = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="The run, by its id; `last` for the newest.", show_default=False),
]
ContractFile = Annotated[
    Path | None, typer.Option("--file", "-f", help="The contract, if there is no run of it yet.", show_default=False)
]


@gates.command()
def show(
    run: RunOrNone = None,
    file: ContractFile = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure/--no-measure",
            help="Measure what is missing or too old, by a probe topic, group and quota and a scratch branch that are "
            "removed again; or only judge.",
        ),
    ] = True,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Show the scorecard: green was tested, yellow is designed and untested, red is unknown or failed. No JVM.

    A failed check blocks every replay; an unknown answer blocks one that is high-volume or business-critical.
    """
    from anabranch.errors import ExitCode
    from anabranch.pages.gates import render_scorecard
    from anabranch.project.atomic_write import atomic_write

    with _gate_service(run, file, project, context) as (keeper, page):
        if measure:
            keeper.measure(lambda words: stderr().print(words, markup=False))
        card = keeper.score()
        if measure:
            keeper.keep(card)
        page.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(page, render_scorecard(card, keeper.contract.metadata.name))
        emit({**card.document(), "page": str(page)}, output, lambda console: _table(console, card))
        stderr().print(f"page      {page}", markup=False)
        if card.closed:
            raise typer.Exit(int(ExitCode.REFUSED))


@gates.command()
def override(
    gate: Annotated[str, typer.Argument(metavar="GATE", help="The gate's name, as the scorecard has it.")],
    run: RunOrNone = None,
    reason: Annotated[
        str, typer.Option("--reason", help="Why it may be passed all the same.", show_default=False)
    ] = "",
    file: ContractFile = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Answer for a gate by your name. It is on record, and shown with the run ever after."""
    if not reason.strip():
        raise typer.BadParameter("say why, with --reason")
    with _gate_service(run, file, project, context) as (keeper, _):
        kept = keeper.override(gate, reason.strip())
        subject = f"run {keeper.run}" if keeper.run else f"every run of the contract {keeper.contract.metadata.name}"
        emit(
            {"run": keeper.run, **kept.document()},
            output,
            lambda console: console.print(f"{kept.by} answers for {kept.gate} of {subject}.", markup=False),
        )


@gates.command()
def acknowledge(
    run: RunOrNone = None,
    reason: Annotated[
        str, typer.Option("--reason", help="Why the replay goes on with what is unknown.", show_default=False)
    ] = "",
    file: ContractFile = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Acknowledge every red gate of a small replay whose answer is unknown, by your name and on record.

    Refused where a check failed, and for a replay that is high-volume or business-critical.
    """
    if not reason.strip():
        raise typer.BadParameter("say why, with --reason")
    with _gate_service(run, file, project, context) as (keeper, _):
        card = keeper.acknowledge(reason.strip())
        emit(card.document(), output, lambda console: _table(console, card))


@contextmanager
def _gate_service(
    run: str | None, file: Path | None, project: Path, context: str | None
) -> Iterator[tuple[GateService, Path]]:
    """The one that is meant, with its store open, and where its page goes."""
    from datetime import datetime, timezone

    from anabranch.app.backfill import operator
    from anabranch.app.gates import gate_service
    from anabranch.app.planning import plan_backfill
    from anabranch.app.project_context import open_project
    from anabranch.cli.place import run_in_hand

    if (run is None) == (file is None):
        raise typer.BadParameter("give a run, or a contract with -f")
    if run is not None:
        with run_in_hand(run, project, context) as backfill:
            yield backfill.gates, backfill.folder / "gates.html"
    elif file is not None:
        project_context = open_project(project, context)
        planned = plan_backfill(project_context, file, now=datetime.now(timezone.utc))
        with project_context.store() as store:
            request = planned.request
            keeper = gate_service(
                project_context, store, planned.plan, request.backfill, request.pipeline, operator()[1]
            )
            yield keeper, project_context.state / "gates" / f"{request.backfill.metadata.name}.html"


_STYLES = {"green": "green", "yellow": "yellow", "red": "bold red"}


def _table(console: Console, card: Scorecard) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = Table("", "gate", "says", "answers for it", "turns green by", box=None, header_style="dim")
    for each in card.judgements:
        colour = each.colour.value
        cells = [Text(part, overflow="fold") for part in (each.gate, each.words, each.owner, each.to_green)]
        rows.add_row(Text(colour, _STYLES[colour]), *cells)
    console.print(rows)
    for kept in card.overrides.values():
        words = f"overridden: {kept.gate}, by {kept.by} on {kept.at:%Y-%m-%d %H:%M} UTC: {kept.reason}"
        console.print(Text(words, "bold magenta", overflow="fold"))
    for red in card.acknowledged.values():
        words = f"red, acknowledged: {red.gate}, by {red.by} on {red.at:%Y-%m-%d %H:%M} UTC: {red.reason}"
        console.print(Text(words, "bold magenta", overflow="fold"))
    counts = ", ".join(f"{number} {colour}" for colour, number in card.counts.items())
    closed = f"; closed by {', '.join(each.gate for each in card.closed)}" if card.closed else ""
    console.print(Text(f"{counts}{closed}.", "bold red" if card.closed else "bold"))
    if any(each.cause == "unknown" for each in card.judgements):
        console.print(Text(f"{card.stakes.words[0].upper()}{card.stakes.words[1:]}.", overflow="fold"))
