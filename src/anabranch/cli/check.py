"""`anabranch check`: read every file of the project, connect to nothing, and say all that is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.project.location import find_project_folder

if TYPE_CHECKING:
    from rich.console import Console


class CheckFailedError(AnabranchError):
    code = "project.check-failed"
    exit_code = ExitCode.USAGE


def check(
    project: Annotated[Path, typer.Option("--project", help="The project's folder, or any folder inside it.")] = Path(),
    context: Annotated[
        str | None,
        typer.Option(help="The context to check.", show_default="ANABRANCH_CONTEXT, or the project's default"),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check the project, its pipelines and its contracts, without connecting to anything."""
    from anabranch.contract.check import check_project
    from anabranch.project.findings import count_of_problems

    report = check_project(find_project_folder(project), context, os.environ)

    def table(console: Console) -> None:
        from rich.table import Table

        found = Table("kind", "name", "file", "ok", box=None)
        for file in report.files:
            found.add_row(file.kind, file.name, file.file, "ok" if file.ok else "no")
        console.print(found)
        for finding in report.findings:
            console.print(str(finding), markup=False)

    emit(report.as_dict(), output, table)
    if not report.ok:
        raise CheckFailedError(
            f"{count_of_problems(report.findings)}.",
            state=NOTHING_CHANGED + " No connection was made.",
            hint="correct the lines named above, then run `anabranch check` again",
        )
