"""Gate: the way back was gone, on this very table, on a branch of it that nobody reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import Judgement, aged, failed, judged, never_measured

NAME = "rollback"
KIND = "rollback"
LIFETIME = timedelta(days=7)


@dataclass(frozen=True)
class RehearsedRollback:
    """A promotion on a scratch branch and the way back, and whether the branch then was as before."""

    files_out: int
    files_in: int
    promote_seconds: float
    rollback_seconds: float
    same: bool
    staged: bool
    """Whether the files were those that are staged; else the range was only taken out and put back."""

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "refused": None}


def refusal_of(code: str, words: str, hint: str) -> dict[str, Any]:
    """As evidence, if it could not be done."""
    return {"refused": words, "code": code, "next": hint}


def judge_rollback(facts: GateFacts) -> Judgement:
    evidence, owner = facts.evidence.get(KIND), facts.contract.spec.rollback.authority
    if evidence is None:
        words = f"promotion and rollback were not rehearsed on {facts.plan.target.table} as it is"
        return never_measured(NAME, words, owner=owner, at=facts.now, to_green=facts.measure)
    found: Mapping[str, Any] = evidence.found
    findings = []
    if found["refused"] is not None:
        findings.append(failed(f"the rehearsal failed: {found['refused']}", f"{found['next']}"))
        return judged(NAME, findings, "", owner=owner, at=evidence.at, figures={"code": found["code"]})
    if not found["same"]:
        words = "after the rehearsed way back the table was not as before"
        findings.append(failed(words, "promote nothing; report it with `anabranch describe`"))
    swapped = f"{found['files_out']:,} files out and {found['files_in']:,} in, and back again"
    otherwise = f"rehearsed on a scratch branch of the table: {swapped} in {found['rollback_seconds']:.1f} s"
    figures = {name: value for name, value in found.items() if name in RehearsedRollback.__dataclass_fields__}
    judgement = judged(NAME, findings, otherwise, owner=owner, at=evidence.at, figures=figures)
    return aged(judgement, evidence, facts.now, facts.measure)
