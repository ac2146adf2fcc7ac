"""Where measured effects are kept: as evidence of the contract, in the audit chain of the control database.

The blocks without the replay in it are how live does when no replay reads: `latency_without`, `lag_without`, and each
block with `on: false`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from anabranch.gates.binding import of_rehearsal
from anabranch.gates.evidence import ACTION, Evidence, keep_evidence, read_evidence
from anabranch.gates.impact.measured import KIND, Impact

if TYPE_CHECKING:
    from anabranch.contract.backfill import Backfill
    from anabranch.plan.plan import Plan
    from anabranch.runs.store import RunReader, RunWriter

LIFETIME = timedelta(days=7)


def keep_impact(
    writer: RunWriter,
    impact: Impact,
    plan: Plan,
    contract: Backfill,
    *,
    by: str,
    now: datetime,
    run_id: str | None = None,
) -> Evidence:
    """Record it with all of its blocks. It counts for this contract, as a rehearsal of it does."""
    bound = of_rehearsal(plan, contract)
    found = {**impact.document(), "plan": plan.hash, "about": dict(bound.about)}
    return keep_evidence(writer, KIND, bound.subject, found, by=by, good_until=now + LIFETIME, run_id=run_id)


def newest_impact(reader: RunReader, plan: Plan, contract: Backfill, run_id: str | None = None) -> Evidence | None:
    """The newest one that was measured on this run; without one, the newest that counts for its contract."""
    if run_id is not None:
        own = reader.audit(run_id=run_id, action=f"{ACTION}{KIND}")
        if own:
            return read_evidence(own[-1])
    bound = of_rehearsal(plan, contract)
    same = [each for each in map(read_evidence, reader.audit(action=f"{ACTION}{KIND}")) if bound.holds(each)]
    return same[-1] if same else None
