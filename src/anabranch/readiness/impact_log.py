"""Requests and results of experiments on one run, in its audit records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from anabranch.contract.backfill import Backfill
from anabranch.gates.impact.design import Design
from anabranch.gates.impact.measured import Impact
from anabranch.gates.impact.stored import keep_impact
from anabranch.plan.plan import Plan
from anabranch.readiness.impact_requests import ENDED, REQUESTED, STARTED, ImpactRequest, read_progress
from anabranch.runs.run_lease import RunLease


@dataclass(frozen=True)
class AuditedExperiments:
    """An `ExperimentLog`."""

    lease: RunLease
    plan: Plan
    contract: Callable[[], Backfill]

    def requested(self) -> ImpactRequest | None:
        reader, run = self.lease.reader, self.lease.run_id
        # By action: asked every two seconds, and a long run has many records.
        records = [each for action in (REQUESTED, STARTED, ENDED) for each in reader.audit(run_id=run, action=action)]
        progress = read_progress(sorted(records, key=lambda each: each.seq))
        return None if progress is None or progress.ended is not None else progress.request

    def started(self, request: ImpactRequest, design: Design) -> None:
        self._record(STARTED, request, {"design": design.document()})

    def ended(self, request: ImpactRequest, impact: Impact | None, reason: str | None) -> None:
        if impact is not None:
            now, run_id, writer = datetime.now(timezone.utc), self.lease.run_id, self.lease.writer
            keep_impact(writer, impact, self.plan, self.contract(), by=request.by, now=now, run_id=run_id)
        blocks = 0 if impact is None else len(impact.blocks)
        self._record(ENDED, request, {"blocks": blocks, "reason": reason})

    def _record(self, action: str, request: ImpactRequest, details: dict[str, object]) -> None:
        details = {"request": request.number, **details}
        self.lease.writer.record_act(action, actor=self.lease.actor, run_id=self.lease.run_id, details=details)
