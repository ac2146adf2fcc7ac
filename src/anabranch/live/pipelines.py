"""Finds a pipeline of the project by name."""

from __future__ import annotations

from anabranch.contract.load import LoadedPipeline, load_pipelines
from anabranch.errors import NOTHING_CHANGED
from anabranch.live.errors import UnknownPipelineError
from anabranch.project.keys import closest
from anabranch.project.load import LoadedProject


def find_pipeline(loaded: LoadedProject, name: str) -> LoadedPipeline:
    pipelines = load_pipelines(loaded)
    if name in pipelines:
        return pipelines[name]
    suggestion = closest(name, pipelines) or " or ".join(pipelines) or "a pipeline of the project"
    raise UnknownPipelineError(
        f"Pipeline {name!r} does not exist in the project.",
        state=NOTHING_CHANGED,
        command="anabranch check",
        hint=f"Name {suggestion}; `anabranch check` lists all pipelines",
        pipeline=name,
    )
