"""The checkpoint of a run that replays as a stream: one folder for each epoch, from the former one's or from live's."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from anabranch.adapters.checkpoints.checkpoint_store import KeptCheckpoints
from anabranch.adapters.checkpoints.copying import copy_cut, made_whole
from anabranch.adapters.checkpoints.log import batches_done, begin_query, begin_source
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.strategies.stream_start import StreamStart


class CheckpointGoneError(AnabranchError):
    code = "replay.checkpoint-gone"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class RunFolder:
    """Slice n of the plan is batch `start.batch + 1 + n` of the stream.

    A process that was superseded goes on writing to its own folder, which nobody reads.
    """

    folder: Path
    run: str
    kept: KeptCheckpoints
    start: StreamStart
    topic: str

    def of(self, epoch: int, slices: int) -> Path:
        """The epoch's own checkpoint, with at most so many slices done: as many as the table has, which knows."""
        mine = self._epoch(epoch)
        if not mine.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            with made_whole(mine) as aside:
                self._fill(aside, epoch, slices)
                begin_query(aside, str(uuid5(NAMESPACE_URL, f"anabranch/{self.run}/e{epoch}")))
        return mine

    def done(self, checkpoint: Path) -> int:
        """How many slices the checkpoint has behind it."""
        return max(batches_done(checkpoint), default=self.start.batch) - self.start.batch

    def batch(self, number: int) -> int:
        """The batch that the plan's slice of this number is."""
        return self.start.batch + 1 + number

    def remove(self) -> None:
        if self.folder.is_dir():
            shutil.rmtree(self.folder)

    def _fill(self, aside: Path, epoch: int, slices: int) -> None:
        for former in _epochs(self.folder):
            checkpoint = self._epoch(former)
            done = min(self.done(checkpoint), slices)
            if former < epoch and done > 0:
                copy_cut(checkpoint, aside, self.start.batch + done)
                return
        if self.start.checkpoint is None:
            begin_source(aside, self.topic, self.start.position)
            return
        found = self.kept.find(self.start.checkpoint)
        if found is None or found.digest != self.start.digest:
            raise CheckpointGoneError(
                f"Live's checkpoint {self.start.checkpoint}, which the plan starts from, is "
                + ("gone." if found is None else "another one than the plan has seen."),
                state="Production is as before, and so is what is staged.",
                hint=f"`anabranch cancel {self.run}` and plan anew, with a longer state.keep in the pipeline",
                run=self.run,
                checkpoint=self.start.checkpoint,
            )
        copy_cut(self.kept.path(found.name), aside, found.batch)

    def _epoch(self, epoch: int) -> Path:
        return self.folder / f"e{epoch}"


def newest_epoch(folder: Path) -> Path | None:
    """The checkpoint of the latest epoch of a run, in its folder for streams."""
    return next((folder / f"e{epoch}" for epoch in _epochs(folder)), None)


def _epochs(folder: Path) -> list[int]:
    """Latest first."""
    there = folder.iterdir() if folder.is_dir() else ()
    return sorted((int(each.name[1:]) for each in there if each.name.startswith("e")), reverse=True)
