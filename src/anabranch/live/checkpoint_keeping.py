"""Keeps a copy of the stream's checkpoint every so often, so that a replay can start from live's own state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore, checkpoint_name
from anabranch.adapters.checkpoints.log import batch_position, batch_watermarks, query_id
from anabranch.contract.pipeline import StateKeeping
from anabranch.plan.strategies.stream_start import StreamCheckpoint


@dataclass
class CheckpointKeeper:
    """A failure here is told and costs live nothing: the next batch tries again."""

    checkpoint: Path
    kept: CheckpointStore
    topic: str
    uuid: str
    """Of the topic."""
    code: str
    settings: StateKeeping
    say: Callable[[str], None]
    clock: Callable[[], float] = time.time
    _last: datetime | None = None

    def after(self, batch: int, newest: str | None) -> None:
        """Called when `batch` is done and none is at work. Looks at the disk only when a copy is due."""
        now = datetime.fromtimestamp(self.clock(), timezone.utc)
        if self._last is not None and now - self._last < self.settings.every:
            return
        try:
            self._keep(batch, newest, now)
        except Exception as error:
            self.say(f"the checkpoint after batch {batch} could not be kept: {type(error).__name__}: {error}")

    def _keep(self, batch: int, newest: str | None, now: datetime) -> None:
        there = self.kept.all()
        self._last = there[0].at if there else None
        if self._last is not None and now - self._last < self.settings.every:
            return
        query = query_id(self.checkpoint)
        manifest = StreamCheckpoint(
            checkpoint_name(query, batch),
            query,
            batch,
            self.uuid,
            batch_position(self.checkpoint, batch, self.topic),
            batch_watermarks(self.checkpoint, batch).closed,
            newest,
            self.code,
            now,
        )
        self.kept.keep(self.checkpoint, manifest)
        self._last = now
        self.kept.drop_before(now - self.settings.keep)
        self.say(f"kept the checkpoint after batch {batch} as {manifest.name}")
