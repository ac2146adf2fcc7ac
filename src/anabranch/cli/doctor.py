"""`anabranch doctor`: look at everything a run stands on, and say what would mend it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.doctor.finding import DoctorSubject
from anabranch.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.doctor.finding import DoctorFinding


def doctor(
    project: Annotated[
        Path | None,
        typer.Option("--project", help="The project's folder, or any folder inside it.", show_default="here"),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(help="The context to look at.", show_default="ANABRANCH_CONTEXT, or the project's default"),
    ] = None,
    skip: Annotated[
        list[DoctorSubject] | None, typer.Option("--skip", help="Don't look at this one. May be given several times.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Look at the machine, Kafka, the catalog, the database and Spark. Exit code 0 if nothing is red, 1 otherwise."""
    from anabranch.doctor.examine import examine
    from anabranch.doctor.finding import Level

    console = stderr()
    with console.status("looking …") as spinner:

        def starting(subject: DoctorSubject) -> None:
            words = f"looking at {subject.value} …"
            if console.is_terminal:
                spinner.update(words)
            else:
                console.print(words)

        findings = list(examine(project, context, skip=skip or (), starting=starting, met=_met))
    healthy = not any(finding.level is Level.RED for finding in findings)
    document = {"healthy": healthy, "findings": [finding.as_dict() for finding in findings]}
    emit(document, output, lambda out: _table(out, findings))
    if not healthy:
        raise typer.Exit(int(ExitCode.FAILED))


def _met(error: Exception) -> None:
    from anabranch.cli.app import debugging

    if debugging():
        import traceback

        traceback.print_exception(error)


def _table(console: Console, findings: Sequence[DoctorFinding]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        # Text, never markup: what a server said must not colour or hide anything on a terminal.
        level = finding.level.value
        dot = Text(f"● {level}" if not console.is_terminal else "●", style=level)
        table.add_row(dot, Text(finding.subject), Text(finding.says), Text(finding.remedy, style="bold"))
    console.print(table)
