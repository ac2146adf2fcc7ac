"""Gate: what it will cost is estimated and within the contract's budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.gates.colour import Colour
from anabranch.gates.facts import Facts
from anabranch.gates.gate import Finding, Judgement, aged, judged

NAME = "cost"
KIND = "cost"
"""Evidence of an estimate: `amount` and `currency`, of `plan/<hash>`."""
ESTIMATE = "anabranch cost -f CONTRACT"


def judge(facts: Facts) -> Judgement:
    spec, evidence = facts.contract.spec, facts.evidence.get(KIND)
    budget = None if spec.budget is None else spec.budget.cost
    findings = []
    if budget is None:
        findings.append(Finding(Colour.YELLOW, "the contract sets no limit", "budget: {cost: …} in the contract"))
    if evidence is None:
        findings.append(Finding(Colour.YELLOW, "nobody has estimated it", ESTIMATE))
        return judged(NAME, findings, "", owner=spec.owner, at=facts.now, figures={"budget": budget})
    found: Mapping[str, Any] = evidence.found
    estimated = f"{found['amount']:,.2f} {found['currency']}"
    if budget is not None and found["amount"] > budget:
        words = f"{estimated} are estimated, and the budget is {budget:,.2f}"
        findings.append(Finding(Colour.RED, words, "a smaller range or a larger budget.cost in the contract"))
    figures = {"budget": budget, "estimate": found["amount"], "currency": found["currency"]}
    otherwise = f"{estimated} are estimated, within the budget"
    judgement = judged(NAME, findings, otherwise, owner=spec.owner, at=evidence.at, figures=figures)
    return aged(judgement, evidence, facts.now, ESTIMATE)
