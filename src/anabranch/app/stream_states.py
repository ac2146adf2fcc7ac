"""Finds checkpoints of a stream by name, live's and those of runs, and compares two of them."""

from __future__ import annotations

from pathlib import Path

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.log import batch_position, batch_watermarks, batches_done
from anabranch.adapters.checkpoints.run_folder import newest_epoch
from anabranch.app.project_context import ProjectContext
from anabranch.app.slice_writers import stream_place
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.replay.state_comparison import Held, StateComparison


class CheckpointUnknownError(AnabranchError):
    code = "checkpoint.unknown"
    exit_code = ExitCode.USAGE


def compare_by_name(project_context: ProjectContext, pipeline: Pipeline, a: str, b: str) -> StateComparison:
    from anabranch.adapters.spark.windows.stream_state import compare_states

    first, second = find_pair(project_context, pipeline, a, b)
    return compare_states(project_context.spark("anabranch checkpoints"), first, second)


def find_pair(project_context: ProjectContext, pipeline: Pipeline, a: str, b: str) -> tuple[Held, Held]:
    """Both states. A run's is taken at the other's position, if the run has a batch there; otherwise its last."""
    ours, theirs = _states(project_context, pipeline, a), _states(project_context, pipeline, b)
    alike = [(one, other) for one in ours for other in theirs if one.place == other.place]
    return alike[-1] if alike else (ours[-1], theirs[-1])


def _states(project_context: ProjectContext, pipeline: Pipeline, name: str) -> list[Held]:
    """All batches under this name, oldest first."""
    kept = CheckpointStore.of(project_context.state, pipeline.metadata.name)
    found = kept.find(name)
    if found is not None:
        return [Held(name, kept.path(name), found.batch, found.position, found.watermark)]
    folder = newest_epoch(stream_place(project_context, name)) if Path(name).name == name else None
    if folder is None or not batches_done(folder):
        raise CheckpointUnknownError(
            f"Pipeline {pipeline.metadata.name} has no stream checkpoint {name!r}.",
            state=NOTHING_CHANGED,
            command=f"anabranch checkpoints {pipeline.metadata.name}",
            hint="Name a stream checkpoint that the command lists, or a stream-faithful run that is not closed",
            name=name,
        )
    return [_held(name, folder, batch, pipeline) for batch in batches_done(folder)]


def _held(name: str, folder: Path, batch: int, pipeline: Pipeline) -> Held:
    position = batch_position(folder, batch, pipeline.spec.source.topic)
    return Held(name, folder, batch, position, batch_watermarks(folder, batch).closed)
