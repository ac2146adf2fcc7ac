"""`anabranch check`: validate every file of the project without a connection."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.cli.options import ContextName, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.project.location import find_project_folder

if TYPE_CHECKING:
    from rich.console import Console


class CheckFailedError(AnabranchError):
    code = "project.check-failed"
    exit_code = ExitCode.USAGE


def check(
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Check the files of a project: settings, pipelines, contracts. Makes no connection."""
    from anabranch.contract.check import check_project
    from anabranch.project.findings import count_of_problems

    report = check_project(find_project_folder(project), context, os.environ)

    def table(console: Console) -> None:
        rows = ((file.kind, file.name, file.file, "yes" if file.ok else "no") for file in report.files)
        print_table(console, ("kind", "name", "file", "valid"), rows)
        for finding in report.findings:
            console.print(str(finding), markup=False)

    emit(report.as_dict(), output, table)
    if not report.ok:
        raise CheckFailedError(
            f"{count_of_problems(report.findings)}.",
            state=NOTHING_CHANGED + " No connection was made.",
            command="anabranch check",
            hint="correct the lines above, then check again",
        )
