"""Gate: promotion and rollback were rehearsed on a scratch branch of this table."""

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
    """A promotion and its rollback on a scratch branch, and whether they restored the branch."""

    files_out: int
    files_in: int
    promote_seconds: float
    rollback_seconds: float
    same: bool
    staged: bool
    """Whether staged files were promoted; otherwise the range was removed and restored."""

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "refused": None}


def refusal_of(code: str, words: str, hint: str) -> dict[str, Any]:
    """As evidence, if the rehearsal failed."""
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
        words = "the rehearsed rollback did not restore the table"
        findings.append(failed(words, "promote nothing, and report it with the output of `anabranch describe`"))
    swapped = f"{found['files_out']:,} files removed and {found['files_in']:,} added, and rolled back"
    otherwise = f"rehearsed on a scratch branch of the table: {swapped} in {found['rollback_seconds']:.1f} s"
    figures = {name: value for name, value in found.items() if name in RehearsedRollback.__dataclass_fields__}
    judgement = judged(NAME, findings, otherwise, owner=owner, at=evidence.at, figures=figures)
    return aged(judgement, evidence, facts.now, facts.measure)
