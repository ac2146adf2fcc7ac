"""Compares two states of a stream by name: live's checkpoints and those of runs."""

from __future__ import annotations

from anabranch.adapters.checkpoints.by_name import StatesByName
from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.replay.state_comparison import Held, StateComparison, find_pair


def compare_by_name(project_context: ProjectContext, pipeline: Pipeline, a: str, b: str) -> StateComparison:
    from anabranch.adapters.spark.windows.stream_state import compare_states

    first, second = states_by_name(project_context, pipeline, a, b)
    return compare_states(project_context.spark("anabranch checkpoints"), first, second)


def states_by_name(project_context: ProjectContext, pipeline: Pipeline, a: str, b: str) -> tuple[Held, Held]:
    store = CheckpointStore.of(project_context.state, pipeline.metadata.name)
    runs = project_context.state.resolve() / "runs"
    return find_pair(pipeline.metadata.name, StatesByName(store, runs, pipeline.spec.source.topic), a, b)
