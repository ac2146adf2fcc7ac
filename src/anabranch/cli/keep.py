"""`anabranch live keep`: store a version of a pipeline's code, so that a control can replay it later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.options import ContextName, PipelineName, ProjectFolder
from anabranch.cli.output import Format, Output, emit


def keep(
    pipeline: PipelineName,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A folder with the former project.", show_default="the current project"),
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Store the code of a pipeline by its digest. Live does this when it starts. Idempotent."""
    from anabranch.app.project_context import open_project
    from anabranch.contract.code_store import CodeStore
    from anabranch.live.pipelines import find_pipeline

    project_context = open_project(project, context)
    former = project_context if source is None else open_project(source, context)
    store = CodeStore.below(project_context.state, pipeline)
    digest = store.keep(former.folder, find_pipeline(former.loaded, pipeline).pipeline)
    document = {"pipeline": pipeline, "digest": digest, "folder": str(store.folder / digest)}
    emit(document, output, lambda console: console.print(f"Stored code {digest} of pipeline {pipeline}.", markup=False))
