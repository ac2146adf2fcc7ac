"""Requests to measure what a running replay does to live. A request is an audit record, as all control of a run is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.gates.impact.design import Design, read_design
from anabranch.runs.audit import AuditRecord

REQUESTED, STARTED, ENDED = "control.impact", "impact.started", "impact.ended"
"""Actions under which a request, the first block and the end of an experiment are recorded."""


@dataclass(frozen=True)
class ImpactRequest:
    number: int
    """Of its audit record."""
    by: str
    pairs: int
    block_seconds: float | None
    """None: as live's batches need."""
    seed: int

    def details(self) -> dict[str, object]:
        return {"pairs": self.pairs, "block_seconds": self.block_seconds, "seed": self.seed}


@dataclass(frozen=True)
class ImpactProgress:
    """How far the experiment of one request is, as its audit records have it."""

    request: ImpactRequest
    started_at: str | None = None
    """When the first block began; None: it has not."""
    design: Design | None = None
    ended: Mapping[str, Any] | None = None
    """`blocks` and `reason` of the end; None: it has not ended."""


def read_progress(records: Iterable[AuditRecord]) -> ImpactProgress | None:
    """Of the newest request in a run's audit records, oldest first; None: there is none."""
    found: ImpactProgress | None = None
    for record in records:
        if record.action == REQUESTED:
            found = ImpactProgress(read_request(record))
        elif found is not None and record.action in (STARTED, ENDED):
            details = json.loads(record.details)
            if details["request"] != found.request.number:
                continue
            if record.action == STARTED:
                found = ImpactProgress(found.request, record.at, read_design(details["design"]))
            else:
                found = ImpactProgress(found.request, found.started_at, found.design, details)
    return found


def read_request(record: AuditRecord) -> ImpactRequest:
    details = json.loads(record.details)
    return ImpactRequest(record.seq, record.actor, details["pairs"], details["block_seconds"], details["seed"])
