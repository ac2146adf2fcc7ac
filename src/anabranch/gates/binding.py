"""What each kind of evidence is bound to: it is valid for a backfill only while all of that is unchanged. Pure.

| evidence      | measured of                | valid while these are unchanged                             |
|---------------|----------------------------|-------------------------------------------------------------|
| compatibility | the cluster                | Kafka's user, the topic's name                              |
| storage       | the topic, by its UUID     | the plan                                                    |
| schema        | the topic, by its UUID     | the plan, how records are decoded                           |
| rollback      | the table                  | the plan; the table's UUID, columns and partitioning        |
| rehearsal     | the contract, by its hash  | the code, the topic's UUID, the contract's byte rate        |
| impact        | the contract, by its hash  | as the rehearsal                                            |
| cost          | the plan                   | (a plan never changes)                                      |

A rehearsal is not bound to the plan: live continues between rehearsal and apply, so the same contract gives another
plan each time. It is bound to the contract, since range, rate, strategy and control change its effect on live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.contract.backfill import Backfill
from anabranch.gates.evidence import Evidence
from anabranch.plan.plan import Plan


@dataclass(frozen=True)
class Binding:
    subject: str
    about: Mapping[str, Any] = field(default_factory=dict)
    """The values that must be unchanged, plain JSON; stored with the evidence under this name."""

    def holds(self, evidence: Evidence) -> bool:
        if evidence.subject != self.subject:
            return False
        return not self.about or evidence.found.get("about") == dict(self.about)


def of_compatibility(plan: Plan, *, cluster: str, user: str) -> Binding:
    return Binding(f"cluster/{cluster}", {"user": user, "topic": plan.source.topic})


def of_storage(plan: Plan) -> Binding:
    return Binding(f"topic/{plan.source.uuid}", {"plan": plan.hash})


def of_schema(plan: Plan, *, reading: str) -> Binding:
    """`reading` is the digest of how records are decoded."""
    return Binding(f"topic/{plan.source.uuid}", {"plan": plan.hash, "reading": reading})


def of_rollback(plan: Plan, *, table: str, schema: str, spec: int) -> Binding:
    """A table that was recreated, or has other columns or partitions, must be rehearsed again."""
    return Binding(f"table/{plan.target.table}", {"plan": plan.hash, "table": table, "schema": schema, "spec": spec})


def of_rehearsal(plan: Plan, contract: Backfill) -> Binding:
    about = {"code": plan.code, "topic": plan.source.uuid, "bytes_per_second": byte_rate(contract)}
    return Binding(f"contract/{plan.contract}", about)


def of_cost(plan: Plan) -> Binding:
    return Binding(f"plan/{plan.hash}")


def byte_rate(contract: Backfill) -> int | None:
    """The contract's limit in bytes per second; None: there is none."""
    return None if contract.spec.budget is None else contract.spec.budget.bytes_per_second
