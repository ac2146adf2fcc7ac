"""`anabranch live keep`: keep a version of a pipeline's code, so that a control can replay it later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.output import Format, Output, emit
from anabranch.cli.place import ContextName, ProjectFolder


def keep(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.", show_default=False)],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A folder with the project as it was.", show_default="the project as it is"),
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Keep the code of a pipeline by its digest. Live does this by itself when it starts. Again is no change."""
    from anabranch.app.project_context import open_project
    from anabranch.contract.code_store import CodeStore
    from anabranch.live.pipelines import find_pipeline

    project_context = open_project(project, context)
    former = project_context if source is None else open_project(source, context)
    store = CodeStore.below(project_context.state, pipeline)
    digest = store.keep(former.folder, find_pipeline(former.loaded, pipeline).pipeline)
    document = {"pipeline": pipeline, "digest": digest, "folder": str(store.folder / digest)}
    emit(document, output, lambda console: console.print(f"{pipeline}: kept {digest}", markup=False))
