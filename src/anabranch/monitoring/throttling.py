"""For how long each limit has held replays, from the audit records of their allowances. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.replay.pacing import CHANGED
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant
from anabranch.runs.states import State

Held = tuple[str, str]
"""Run and source of the limit."""


@dataclass
class _OpenLimit:
    source: str
    counted_to: datetime


@dataclass
class Throttling:
    """Folds audit records, each once and in order. A value never falls, so that it can be a counter.

    A limit holds from the record that set it to the run's next allowance, or to the end of its replay. Of a process
    that died, time counts until its lease expired.
    """

    seconds: dict[Held, float] = field(default_factory=lambda: defaultdict(float))
    last: int = 0
    """Number of the last record."""
    _open: dict[str, _OpenLimit] = field(default_factory=dict)

    def add(self, records: Iterable[AuditRecord]) -> None:
        for record in records:
            self.last = record.seq
            if record.run_id is None:
                continue
            if record.action in ("lease.acquire", "lease.take_over"):
                # The process before died: what followed the moment counted last is unknown.
                self._open.pop(record.run_id, None)
            elif record.action == CHANGED:
                self._count(record.run_id, instant(record.at))
                self._begin(record)
            elif record.action == "lease.release" or record.to_state not in (None, State.REPLAYING.value):
                self._count(record.run_id, instant(record.at))
                self._open.pop(record.run_id, None)

    def count_open(self, now: datetime, alive_until: Mapping[str, datetime]) -> None:
        """Count limits that hold now, each until its run's lease expires; a run without a lease is not counted."""
        for run in tuple(self._open):
            if run in alive_until:
                self._count(run, min(now, alive_until[run]))

    def _begin(self, record: AuditRecord) -> None:
        run, details = str(record.run_id), json.loads(record.details)
        if details["paused"] or details["bytes_per_second"] is not None:
            self._open[run] = _OpenLimit(str(details["source"]), instant(record.at))
        else:
            self._open.pop(run, None)

    def _count(self, run: str, until: datetime) -> None:
        held = self._open.get(run)
        if held is not None and until > held.counted_to:
            self.seconds[run, held.source] += (until - held.counted_to).total_seconds()
            held.counted_to = until
