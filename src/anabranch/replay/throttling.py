"""The rate that `anabranch throttle --ratio` is a part of: what limits the run now, or what it has read at so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.replay.controls import ControlRequest
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.store import RunReader


class NoRateError(AnabranchError):
    code = "throttle.no-rate"
    exit_code = ExitCode.CONFLICT

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id} has no rate to take a part of: nothing limits it and no slice has been committed.",
            state=NOTHING_CHANGED,
            command=f"anabranch throttle {run_id} --rate 20MiB",
            run=run_id,
        )


def base_rate(reader: RunReader, run_id: str) -> int:
    """In bytes per second. An operator's ratio does not count: half of it, asked for twice, is still a half."""
    pace = reader.pace(run_id)
    rate = None if pace is None or pace.details["paused"] else pace.details["bytes_per_second"]
    is_ours = pace is not None and pace.details["source"] == ControlRequest.THROTTLE.name.lower()
    if rate and not is_ours:
        return int(rate)
    throttles = reader.audit(run_id=run_id, action=ControlRequest.THROTTLE.value)
    base = json.loads(throttles[-1].details).get("base") if throttles else None
    if base is not None:
        return int(base)
    if rate:
        return int(rate)
    measured = _measured(reader.journal(run_id))
    if measured is None:
        raise NoRateError(run_id)
    return measured


def _measured(journal: Sequence[JournalEntry]) -> int | None:
    """Bytes per second over all committed slices."""
    size, time = 0, timedelta()
    for entry in journal:
        if entry.step == "slice" and entry.outcome is Outcome.SUCCEEDED and entry.settled_at is not None:
            size += int(cast(Any, entry.outcome_details)["ledger"]["bytes"])
            time += entry.settled_at - entry.intended_at
    return int(size / time.total_seconds()) or None if size and time else None
