"""Measurements with their subject, time, author and validity. Stored in the audit chain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant, instant_text
from anabranch.runs.store import RunReader, RunWriter

ACTION = "evidence."
"""Prefix of the action of its audit record; the kind follows."""


@dataclass(frozen=True)
class Evidence:
    kind: str
    """The kind of measurement, such as `rehearsal` or `rollback`."""
    subject: str
    """The subject: `plan/…` or `contract/<hash>`, `table/…` or `pipeline/<name>`, `topic/<uuid>`, `cluster/<id>`."""
    at: datetime
    good_until: datetime | None
    """None: it does not expire, since its subject never changes."""
    by: str
    found: Mapping[str, object]
    """The figures, plain JSON values."""

    def counts(self, now: datetime) -> bool:
        return self.good_until is None or now < self.good_until


def keep_evidence(
    writer: RunWriter,
    kind: str,
    subject: str,
    found: Mapping[str, object],
    *,
    by: str,
    good_until: datetime | None,
    run_id: str | None = None,
) -> Evidence:
    """Record a measurement. It is never changed; a later one of the same kind and subject replaces it."""
    details = {
        "subject": subject,
        "good_until": None if good_until is None else instant_text(good_until),
        "found": dict(found),
    }
    return read_evidence(writer.record_act(f"{ACTION}{kind}", actor=by, run_id=run_id, details=details))


def newest_evidence(reader: RunReader, kind: str, subject: str) -> Evidence | None:
    """The last measurement of this kind and subject, valid or not."""
    return newest_of(reader.audit(action=f"{ACTION}{kind}"), subject)


def newest_of(records: Iterable[AuditRecord], subject: str) -> Evidence | None:
    """From records in the order of the chain, all of one kind."""
    found = [each for each in map(read_evidence, records) if each.subject == subject]
    return found[-1] if found else None


def read_evidence(record: AuditRecord) -> Evidence:
    details = json.loads(record.details)
    until = details["good_until"]
    return Evidence(
        kind=record.action.removeprefix(ACTION),
        subject=details["subject"],
        at=instant(record.at),
        good_until=None if until is None else instant(until),
        by=record.actor,
        found=details["found"],
    )
