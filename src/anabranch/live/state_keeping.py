"""Keeps a state of the table from expiry every so often, so that a replay never has far to go."""

from __future__ import annotations

from datetime import datetime, timezone

from anabranch.adapters.iceberg.states import keep_state, newest_kept
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.contract.pipeline import StateKeeping


class StateKeeper:
    def __init__(self, target: IcebergTarget, settings: StateKeeping) -> None:
        self._target = target
        self._settings = settings
        self._last: datetime | None = None

    def after(self, snapshot: int, now: float) -> None:
        """Called after each batch with its snapshot. Only looks at the table when a state is due."""
        moment = datetime.fromtimestamp(now, timezone.utc)
        if self._last is not None and moment - self._last < self._settings.every:
            return
        kept = newest_kept(self._target.load())
        if kept is None or moment - kept >= self._settings.every:
            kept = moment if keep_state(self._target, snapshot, self._settings.keep) else kept
        self._last = kept
