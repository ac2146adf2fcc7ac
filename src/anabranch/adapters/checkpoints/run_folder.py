"""The checkpoint of a stream-faithful run: one folder per epoch, copied from the previous epoch's or from live's."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.copying import copy_up_to, create_folder
from anabranch.adapters.checkpoints.log import batches_done, begin_query, begin_source
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.plan import Plan
from anabranch.plan.strategies.stream_start import StreamStart


class CheckpointGoneError(AnabranchError):
    code = "replay.checkpoint-gone"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class RunFolder:
    """Slice n of the plan is batch `start.batch + 1 + n` of the stream.

    A superseded process may continue to write to its own folder, which is not read any more.
    """

    folder: Path
    run: str
    stored: CheckpointStore
    start: StreamStart
    topic: str

    @classmethod
    def of_plan(cls, folder: Path, run: str, stored: CheckpointStore, plan: Plan) -> RunFolder:
        """ValueError for a plan that does not replay as a stream."""
        if plan.stream is None:
            raise ValueError(f"plan {plan.hash} replays no stream")
        return cls(folder, run, stored, plan.stream, plan.source.topic)

    def of(self, epoch: int, slices: int) -> Path:
        """The epoch's checkpoint with at most `slices` slices done, the number that the table has. Created if
        missing."""
        checkpoint = self._epoch(epoch)
        if not checkpoint.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            with create_folder(checkpoint) as temporary:
                self._fill(temporary, epoch, slices)
                begin_query(temporary, str(uuid5(NAMESPACE_URL, f"anabranch/{self.run}/e{epoch}")))
        return checkpoint

    def done(self, checkpoint: Path) -> int:
        """How many slices the checkpoint has completed."""
        return max(batches_done(checkpoint), default=self.start.batch) - self.start.batch

    def batch(self, number: int) -> int:
        """The batch number of the plan's slice `number`."""
        return self.start.batch + 1 + number

    def _fill(self, temporary: Path, epoch: int, slices: int) -> None:
        for former in _epochs(self.folder):
            checkpoint = self._epoch(former)
            done = min(self.done(checkpoint), slices)
            if former < epoch and done > 0:
                copy_up_to(checkpoint, temporary, self.start.batch + done)
                return
        if self.start.checkpoint is None:
            begin_source(temporary, self.topic, self.start.position)
            return
        found = self.stored.find(self.start.checkpoint)
        if found is None or found.digest != self.start.digest:
            raise CheckpointGoneError(
                f"Checkpoint {self.start.checkpoint}, from which the plan starts, "
                + ("no longer exists." if found is None else "has changed since it was planned."),
                state="Production and staging unchanged.",
                command=f"anabranch cancel {self.run}",
                hint="Cancel the run, set a longer state.keep in the pipeline, and plan again",
                run=self.run,
                checkpoint=self.start.checkpoint,
            )
        copy_up_to(self.stored.path(found.name), temporary, found.batch)

    def _epoch(self, epoch: int) -> Path:
        return self.folder / f"e{epoch}"


def remove_checkpoints(folder: Path) -> None:
    """Those of all epochs of a run. Idempotent; no change for a run that had none."""
    if folder.is_dir():
        shutil.rmtree(folder)


def newest_epoch(folder: Path) -> Path | None:
    """The checkpoint of a run's latest epoch."""
    return next((folder / f"e{epoch}" for epoch in _epochs(folder)), None)


def _epochs(folder: Path) -> list[int]:
    """Latest first."""
    entries = folder.iterdir() if folder.is_dir() else ()
    return sorted((int(each.name[1:]) for each in entries if each.name.startswith("e")), reverse=True)
