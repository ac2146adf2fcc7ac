"""Gate: the estimated cost is within the contract's budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import Judgement, aged, failed, judged, unknown, untested
from anabranch.plan.forecast.pricing import REHEARSED

NAME = "cost"
KIND = "cost"
"""Evidence of an estimate: `amount`, `currency` and `rests_on`, of `plan/<hash>`."""
ESTIMATE = "anabranch cost -f CONTRACT"


def judge_cost(facts: GateFacts) -> Judgement:
    spec, evidence = facts.contract.spec, facts.evidence.get(KIND)
    budget = spec.cost_limit
    findings = []
    if budget is None:
        findings.append(untested("the contract sets no limit", "set budget.cost in the contract"))
    if evidence is None:
        findings.append(unknown("the cost was not estimated", ESTIMATE))
        return judged(NAME, findings, "", owner=spec.owner, at=facts.now, figures={"budget": budget})
    found: Mapping[str, Any] = evidence.found
    estimated = f"{found['amount']:,.2f} {found['currency']}"
    if budget is not None and found["amount"] > budget:
        words = f"estimated cost {estimated} exceeds the budget of {budget:,.2f}"
        findings.append(failed(words, "reduce the range or raise budget.cost in the contract"))
    if found.get("rests_on") != REHEARSED:
        words = (
            f"estimated cost {estimated} rests on the price book's assumptions; no rehearsal measured the quantities"
        )
        findings.append(untested(words, f"anabranch rehearse -f CONTRACT, then {ESTIMATE}"))
    figures = {
        "budget": budget,
        "estimate": found["amount"],
        "currency": found["currency"],
        "rests_on": found.get("rests_on"),
    }
    otherwise = f"{estimated} are estimated, within the budget"
    judgement = judged(NAME, findings, otherwise, owner=spec.owner, at=evidence.at, figures=figures)
    return aged(judgement, evidence, facts.now, ESTIMATE)
