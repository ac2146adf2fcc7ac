"""A run's limits as its contract has them, with what it has cost so far."""

from __future__ import annotations

from datetime import datetime, timezone

from anabranch.contract.backfill import Backfill
from anabranch.plan.cost import Bill
from anabranch.plan.plan import Plan
from anabranch.replay.limits import Limits
from anabranch.runs.hold import Hold
from anabranch.wiring.cost import spent
from anabranch.wiring.workplace import Workplace


def limits_of(workplace: Workplace, hold: Hold, plan: Plan, contract: Backfill) -> Limits:
    budget = contract.spec.budget

    def so_far() -> Bill:
        return spent(workplace, hold.reader, plan, hold.run_id, files=False)

    return Limits(
        hold,
        contract.spec.window,
        None if budget is None else budget.cost,
        None if budget is None else budget.bytes_per_second,
        so_far,
        lambda: datetime.now(timezone.utc),
    )
