"""A run's limits as its contract has them, with what it has cost so far."""

from __future__ import annotations

from datetime import datetime, timezone

from anabranch.app.cost import spent
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill
from anabranch.plan.forecast.cost import Bill
from anabranch.plan.plan import Plan
from anabranch.replay.limits import Limits
from anabranch.runs.run_lease import RunLease


def limits_of(project_context: ProjectContext, lease: RunLease, plan: Plan, contract: Backfill) -> Limits:

    def so_far() -> Bill:
        return spent(project_context, lease.reader, plan, lease.run_id, files=False)

    return Limits(
        lease,
        contract.spec.schedule,
        contract.spec.cost_limit,
        contract.spec.byte_rate,
        so_far,
        lambda: datetime.now(timezone.utc),
    )
