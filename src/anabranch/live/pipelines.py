"""A pipeline of the project by its name."""

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
    meant = closest(name, pipelines) or " or ".join(pipelines) or "a pipeline of the project"
    raise UnknownPipelineError(
        f"There is no pipeline {name!r} in the project.",
        state=NOTHING_CHANGED,
        hint=f"name {meant}; `anabranch check` lists them all",
        pipeline=name,
    )
