"""What operators have asked of a running replay. A request is an audit record, so the asking is on record too."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from anabranch.replay.allowance import UNLIMITED, Allowance
from anabranch.runs.audit import AuditRecord
from anabranch.runs.states import Event


class ControlRequest(str, Enum):
    """The action under which a request is recorded."""

    PAUSE = "control.pause"
    RESUME = "control.resume"
    CANCEL = "control.cancel"
    THROTTLE = "control.throttle"


@dataclass(frozen=True)
class Controls:
    """What counts now."""

    pause: bool = False
    cancel: bool = False
    bytes_per_second: int | None = None
    source: str = "contract"
    """Who set the rate: `contract`, or `throttle` for an operator."""

    @property
    def allowance(self) -> Allowance:
        words = "budget.bytesPerSecond" if self.source == "contract" else "set with anabranch throttle"
        return UNLIMITED if self.bytes_per_second is None else Allowance(self.source, words, self.bytes_per_second)


def read_controls(records: Iterable[AuditRecord], bytes_per_second: int | None) -> Controls:
    """Fold a run's audit records, oldest first, into what counts now; the contract's rate holds until changed.

    Starting the run again answers a pause that was asked for before.
    """
    controls = Controls(bytes_per_second=bytes_per_second)
    answers = {
        ControlRequest.RESUME.value,
        *(f"run.{event.value}" for event in (Event.START, Event.RESUME, Event.RETRY)),
    }
    for record in records:
        if record.action == ControlRequest.PAUSE.value:
            controls = replace(controls, pause=True)
        elif record.action == ControlRequest.CANCEL.value:
            controls = replace(controls, cancel=True)
        elif record.action == ControlRequest.THROTTLE.value:
            rate = json.loads(record.details)["bytes_per_second"]
            controls = replace(controls, bytes_per_second=rate, source="throttle")
        elif record.action in answers:
            controls = replace(controls, pause=False)
    return controls
