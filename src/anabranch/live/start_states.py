"""Stores start states for replays at intervals: copies of the checkpoint, and tagged snapshots of the table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore, checkpoint_name
from anabranch.adapters.checkpoints.log import batch_position, batch_watermarks, query_id
from anabranch.adapters.iceberg.states import keep_state, newest_kept
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.contract.pipeline import StateKeeping
from anabranch.plan.strategies.stream_start import StreamCheckpoint


@dataclass
class CheckpointKeeper:
    """Copies the stream's checkpoint. A failure is logged and does not stop live: the next batch tries again."""

    checkpoint: Path
    store: CheckpointStore
    topic: str
    topic_uuid: str
    code: str
    settings: StateKeeping
    say: Callable[[str], None]
    clock: Callable[[], float] = time.time
    _last: datetime | None = None

    def after(self, batch: int, newest: str | None) -> None:
        """Call when `batch` is done and no other runs. Reads the disk only when a copy is due."""
        now = datetime.fromtimestamp(self.clock(), timezone.utc)
        if self._last is not None and now - self._last < self.settings.every:
            return
        try:
            self._keep(batch, newest, now)
        except Exception as error:
            self.say(f"copying the checkpoint after batch {batch} failed: {type(error).__name__}: {error}")

    def _keep(self, batch: int, newest: str | None, now: datetime) -> None:
        stored = self.store.all()
        self._last = stored[0].at if stored else None
        if self._last is not None and now - self._last < self.settings.every:
            return
        query = query_id(self.checkpoint)
        manifest = StreamCheckpoint(
            checkpoint_name(query, batch),
            query,
            batch,
            self.topic_uuid,
            batch_position(self.checkpoint, batch, self.topic),
            batch_watermarks(self.checkpoint, batch).closed,
            newest,
            self.code,
            now,
        )
        self.store.keep(self.checkpoint, manifest)
        self._last = now
        self.store.drop_before(now - self.settings.keep)
        self.say(f"checkpoint after batch {batch} stored as {manifest.name}")


class StateKeeper:
    """Tags snapshots of the table so that they do not expire."""

    def __init__(self, target: IcebergTarget, settings: StateKeeping) -> None:
        self._target = target
        self._settings = settings
        self._last: datetime | None = None

    def after(self, snapshot: int, now: float) -> None:
        """Call after each batch with its snapshot. Reads the table only when a tag is due."""
        moment = datetime.fromtimestamp(now, timezone.utc)
        if self._last is not None and moment - self._last < self._settings.every:
            return
        newest = newest_kept(self._target.load())
        if newest is None or moment - newest >= self._settings.every:
            newest = moment if keep_state(self._target, snapshot, self._settings.keep) else newest
        self._last = newest
