"""`anabranch init`: write a new project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr

if TYPE_CHECKING:
    from rich.console import Console


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the new project.")],
    name: Annotated[str | None, typer.Option(help="The project's name.", show_default="the folder's name")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Create a project. Writes settings, two pipelines, a contract and a test; overwrites no file."""
    from anabranch.project.scaffold import plan_project, write_project

    project = plan_project(folder, name)
    write_project(project)
    following = [f"cd {folder}", "anabranch check", "anabranch dev up"]

    def table(console: Console) -> None:
        for path in project.files:
            console.print(path, markup=False)

    emit(
        {"name": project.name, "folder": str(project.folder), "files": list(project.files), "next": following},
        output,
        table,
    )
    if output is Format.TABLE:
        words = stderr()
        words.print(f"Created project {project.name} in {project.folder}. Next:", markup=False)
        for command in following:
            words.print(f"  {command}", markup=False)
