"""What operators have asked of a running replay. A request is an audit record, so the asking is on record too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from enum import Enum
from threading import Lock
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.project.quantities import format_moment, format_rate
from anabranch.replay.allowance import UNLIMITED, Allowance
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant
from anabranch.runs.states import INACTIVE, Event, State
from anabranch.runs.store import RunReader


class ControlRequest(str, Enum):
    """The action under which a request is recorded."""

    PAUSE = "control.pause"
    RESUME = "control.resume"
    CANCEL = "control.cancel"
    THROTTLE = "control.throttle"
    EXEMPT = "control.exempt"


class ReplayOverError(AnabranchError):
    """A request would have no effect: the run reads nothing any more."""

    code = "run.replay-over"


def require_replay_to_come(run_id: str, state: State) -> None:
    """Raises for a run that is cancelled or closed."""
    if state in INACTIVE:
        raise ReplayOverError(
            f"Run {run_id} is {state.value}: it has no replay to control",
            state="No request was recorded.",
            command="anabranch list",
        )


ANSWERS = frozenset(
    {ControlRequest.RESUME.value, *(f"run.{event.value}" for event in (Event.START, Event.RESUME, Event.RETRY))}
)
"""The actions that answer a pause."""
EXEMPTIBLE = ("governor", "budget")
"""The sources of limits from which a run can be exempted for a while."""


@dataclass(frozen=True)
class Exemption:
    """A run's exemption from one source of limits."""

    source: str
    until: datetime
    reason: str
    by: str


@dataclass(frozen=True)
class Controls:
    """What counts now."""

    pause: bool = False
    cancel: bool = False
    bytes_per_second: int | None = None
    source: str = "contract"
    """Who set the rate: `contract`, or `throttle` for an operator."""
    until: datetime | None = None
    """When an operator's rate ends by itself; None: it lasts."""
    exemptions: Mapping[str, Exemption] = field(default_factory=dict)

    @property
    def allowance(self) -> Allowance:
        if self.bytes_per_second is None:
            return UNLIMITED
        words = "budget.bytesPerSecond" if self.source == "contract" else "set with anabranch throttle"
        until = "" if self.until is None else f" until {format_moment(self.until)}"
        return Allowance(self.source, words + until, self.bytes_per_second)


@dataclass
class ControlRecords:
    """The audit records of one run that control it. Each record of the run is fetched once, however long it replays."""

    after: int = 0
    """Records up to this number don't count."""
    known: tuple[AuditRecord, ...] = ()
    """Those fetched so far, oldest first."""
    _lock: Lock = field(default_factory=Lock)

    def read(self, reader: RunReader, run_id: str) -> Sequence[AuditRecord]:
        """Fetch what is new and return all. Called from any thread; raises what the reader raises."""
        with self._lock:
            new = reader.audit(run_id=run_id, after=self.after)
            actions = ANSWERS | {each.value for each in ControlRequest}
            self.known = (*self.known, *(each for each in new if each.action in actions))
            self.after = max((each.seq for each in new), default=self.after)
            return self.known


@dataclass(frozen=True)
class _Rate:
    bytes_per_second: int | None
    source: str
    until: datetime | None = None


def read_controls(
    records: Iterable[AuditRecord], bytes_per_second: int | None, now: datetime | None = None
) -> Controls:
    """Fold a run's audit records, oldest first, into what counts at `now`; the contract's rate holds until changed.

    Starting the run again answers a pause that was asked for before. A rate or an exemption with an end counts until
    then; afterwards the rate that lasts counts again. `now` is the present if left out.
    """
    now = now or datetime.now(timezone.utc)
    controls = Controls()
    lasting, passing = _Rate(bytes_per_second, "contract"), None
    exemptions: dict[str, Exemption] = {}
    for record in records:
        if record.action == ControlRequest.PAUSE.value:
            controls = replace(controls, pause=True)
        elif record.action == ControlRequest.CANCEL.value:
            controls = replace(controls, cancel=True)
        elif record.action == ControlRequest.THROTTLE.value:
            details = json.loads(record.details)
            rate = _Rate(details["bytes_per_second"], "throttle", _end(record, details))
            lasting, passing = (rate, None) if rate.until is None else (lasting, rate)
        elif record.action == ControlRequest.EXEMPT.value:
            exemption = _exemption(record)
            exemptions[exemption.source] = exemption
        elif record.action in ANSWERS:
            controls = replace(controls, pause=False)
    counts = passing if passing is not None and passing.until is not None and now < passing.until else lasting
    return replace(
        controls,
        bytes_per_second=counts.bytes_per_second,
        source=counts.source,
        until=counts.until,
        exemptions={source: each for source, each in exemptions.items() if now < each.until},
    )


def _exemption(record: AuditRecord) -> Exemption:
    details = json.loads(record.details)
    until = _end(record, details)
    if until is None:
        raise ValueError(f"the exemption in audit record {record.seq} has no end")
    return Exemption(details["source"], until, details["reason"], record.actor)


def _end(record: AuditRecord, details: Mapping[str, Any]) -> datetime | None:
    """From the moment of the record, which is the database's, so that the requester's clock does not matter."""
    seconds = details.get("seconds")
    return None if seconds is None else datetime.fromtimestamp(instant(record.at).timestamp() + seconds, timezone.utc)


def operator_limits(controls: Controls) -> dict[str, Any]:
    """What operators have set, for `status`."""
    throttle = None
    if controls.source == "throttle":
        rate = controls.bytes_per_second
        until = "" if controls.until is None else f" until {format_moment(controls.until)}"
        throttle = {
            "bytes_per_second": rate,
            "until": None if controls.until is None else format_moment(controls.until),
            "words": ("no rate limit" if rate is None else f"up to {format_rate(rate)}") + until,
        }
    exemptions = [
        {"source": each.source, "until": format_moment(each.until), "reason": each.reason, "by": each.by}
        for each in controls.exemptions.values()
    ]
    return {"throttle": throttle, "exemptions": exemptions}
