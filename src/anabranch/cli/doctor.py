"""`anabranch doctor`: check everything a run depends on, and print what fixes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, print_table, stderr
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
        typer.Option(help="The context.", show_default="ANABRANCH_CONTEXT, or the project's default"),
    ] = None,
    skip: Annotated[
        list[DoctorSubject] | None, typer.Option("--skip", help="Skip this check. Can be repeated.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check machine, Kafka, catalog, database and Spark. Exit code 1 if a check is red, otherwise 0."""
    from anabranch.doctor.examine import examine
    from anabranch.doctor.finding import Level

    console = stderr()
    with console.status("checking") as spinner:

        def starting(subject: DoctorSubject) -> None:
            words = f"checking {subject.value}"
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
    from rich.text import Text

    rows = []
    for finding in findings:
        level = finding.level.value
        dot = Text("●" if console.is_terminal else f"● {level}", style=level)
        rows.append((dot, finding.subject, finding.says, Text(finding.remedy, style="bold")))
    print_table(console, (), rows)
