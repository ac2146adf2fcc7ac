"""The states of a stream by name: those of a stored checkpoint of live, or of a run's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.log import batch_position, batch_watermarks, batches_done
from anabranch.adapters.checkpoints.run_folder import newest_epoch
from anabranch.replay.state_comparison import Held


@dataclass(frozen=True)
class StatesByName:
    """A `replay.state_comparison.StateFinder`."""

    store: CheckpointStore
    runs: Path
    """The folder with a folder for each run."""
    topic: str

    def __call__(self, name: str) -> list[Held]:
        found = self.store.find(name)
        if found is not None:
            return [Held(name, self.store.path(name), found.batch, found.position, found.watermark)]
        if Path(name).name != name:
            return []
        folder = newest_epoch(self.runs / name / "stream")
        return [] if folder is None else [self._held(name, folder, batch) for batch in batches_done(folder)]

    def _held(self, name: str, folder: Path, batch: int) -> Held:
        position = batch_position(folder, batch, self.topic)
        return Held(name, folder, batch, position, batch_watermarks(folder, batch).closed)
