"""What a run has cost against its estimate, as the closure record has it."""

from __future__ import annotations

from typing import Any

from anabranch.contract.backfill import Backfill
from anabranch.gates.checks import cost as gate
from anabranch.gates.evidence import newest_evidence
from anabranch.plan.forecast.cost import Bill
from anabranch.plan.plan import Plan
from anabranch.runs.store import RunReader


def cost_document(reader: RunReader, plan: Plan, contract: Backfill, actual: Bill) -> dict[str, Any]:
    estimate = newest_evidence(reader, gate.KIND, f"plan/{plan.hash}")
    return {
        "actual": actual.document(),
        "estimate": None if estimate is None else dict(estimate.found),
        "budget": contract.spec.cost_limit,
    }
