"""Services that do not answer, on the run's record: written while a replay waits, and read by `status`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from anabranch.errors import AnabranchError
from anabranch.replay.outages import REPLAY_WAITS, Answers, Notice, Silent, words_of
from anabranch.runs.audit import AuditRecord
from anabranch.runs.lease import Lease
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

SILENT, ANSWERS = "service.silent", "service.answers"
"""Audit actions: a service that does not answer, and one that answers again."""


def service_report(lease: RunLease, notice: Callable[[str], object]) -> Callable[[Notice], None]:
    """Shows each change by `notice` and records it while the control database answers."""

    def report(change: Notice) -> None:
        notice(words_of(change, REPLAY_WAITS))
        match change:
            case Answers(silence, at):
                _record(lease, ANSWERS, {"service": silence.service, "at": at.isoformat()})
            case Silent(silence, _, pauses_at, first) if first:
                until = None if pauses_at is None else pauses_at.isoformat()
                details = {"service": silence.service, "since": silence.since.isoformat(), "pauses_at": until}
                _record(lease, SILENT, details)

    return report


def database_answers(lease: RunLease) -> bool:
    try:
        lease.reader.lease(lease.run_id)
    except AnabranchError as error:
        return error.code != "store.unreachable"  # busy or refusing is an answer
    return True


def _record(lease: RunLease, action: str, details: Mapping[str, object]) -> None:
    try:
        record = {**details, "epoch": lease.epoch}
        lease.writer.record_act(action, actor=lease.actor, run_id=lease.run_id, details=record)
    except AnabranchError:
        return  # the notice was shown; while the database is away `status` can't be answered either


def silent_services(records: Sequence[AuditRecord], lease: Lease) -> list[dict[str, object]]:
    """The services that the lease's holder waits for, by the run's audit records; none if the lease is free."""
    if lease.holder is None:
        return []
    silent: dict[str, dict[str, object]] = {}
    for record in records:
        if record.action in (SILENT, ANSWERS):
            details = json.loads(record.details)
            silent.pop(details["service"], None)
            if record.action == SILENT and details["epoch"] == lease.epoch:
                silent[details["service"]] = details
    return list(silent.values())


def paused_by_outage(records: Sequence[AuditRecord], state: State) -> dict[str, object] | None:
    """The outage that paused the run, if one did."""
    if state is not State.PAUSED:
        return None
    pauses = [json.loads(each.details) for each in records if each.to_state == State.PAUSED.value]
    last: dict[str, object] = pauses[-1] if pauses else {}
    return last if last.get("reason") == "outage" else None
