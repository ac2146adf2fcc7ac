"""Gate: the cluster supports and allows each operation, tried by this user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import (
    CLUSTER_OWNER,
    GateFinding,
    Judgement,
    aged,
    failed,
    judged,
    never_measured,
    unknown,
    untested,
)

NAME = "compatibility"
KIND = "compatibility"
LIFETIME = timedelta(days=7)
SCRATCH = "anabranch-probe"
"""The prefix of probe topics, groups and quotas."""


class Operation(str, Enum):
    CONSUME = "consume"
    OFFSETS_BY_TIME = "offsets by time"
    CONFIGS = "configs"
    GROUPS = "groups"
    PRODUCE = "produce"
    TRANSACTIONS = "transactions"
    DELETE_RECORDS = "delete records"
    QUOTAS = "quotas"
    ACLS = "ACLs"


NEEDED = frozenset({Operation.CONSUME, Operation.OFFSETS_BY_TIME, Operation.GROUPS})
"""A replay, or the proof that it did not move live's group, requires these. The others are optional."""


class ProbeOutcome(str, Enum):
    WORKS = "works"
    DENIED = "denied"
    FAILED = "failed"
    UNTRIED = "untried"
    """The client does not support it, or a prerequisite was missing."""
    ABSENT = "absent"
    """The cluster does not have the feature, such as ACLs without an authorizer."""


@dataclass(frozen=True)
class Probe:
    operation: Operation
    outcome: ProbeOutcome
    answer: str = ""
    """The error of the cluster or of its client."""
    needs: str = ""
    """The ACL that allows it."""

    @property
    def good(self) -> bool:
        return self.outcome in (ProbeOutcome.WORKS, ProbeOutcome.ABSENT)

    def document(self) -> dict[str, Any]:
        return {
            "operation": self.operation.value,
            "outcome": self.outcome.value,
            "answer": self.answer,
            "needs": self.needs,
        }


def compatibility_document(probes: Iterable[Probe], left: Iterable[str], *, user: str, topic: str) -> dict[str, Any]:
    """As evidence. `left` names what the probes could not remove."""
    return {"user": user, "topic": topic, "probes": [each.document() for each in probes], "left_behind": list(left)}


def read_probes(found: Mapping[str, Any]) -> list[Probe]:
    return [
        Probe(Operation(each["operation"]), ProbeOutcome(each["outcome"]), each["answer"], each["needs"])
        for each in found["probes"]
    ]


def judge_compatibility(facts: GateFacts) -> Judgement:
    evidence = facts.evidence.get(KIND)
    if evidence is None:
        words = "no operation was tried on this cluster by this user"
        return never_measured(NAME, words, owner=CLUSTER_OWNER, at=facts.now, to_green=facts.measure)
    probes = read_probes(evidence.found)
    findings = [_against(each) for each in probes if not each.good]
    left = evidence.found["left_behind"]
    if left:
        words = f"the probes left behind {', '.join(map(str, left))}"  # type: ignore[call-overload]
        findings.append(untested(words, "remove it on the cluster"))
    otherwise = f"{sum(each.outcome is ProbeOutcome.WORKS for each in probes)} operations tried, all work"
    figures = {each.operation.value: each.outcome.value for each in probes}
    judgement = judged(NAME, findings, otherwise, owner=CLUSTER_OWNER, at=evidence.at, figures=figures)
    return aged(judgement, evidence, facts.now, facts.measure)


def _against(probe: Probe) -> GateFinding:
    needed = probe.operation in NEEDED
    if probe.outcome is ProbeOutcome.UNTRIED:
        words = f"{probe.operation.value} could not be tried: {probe.answer}"
        return (unknown if needed else untested)(words, f"let this user create topics named {SCRATCH}-*")
    finding = failed if needed else untested
    if probe.outcome is ProbeOutcome.DENIED:
        return finding(f"{probe.operation.value} is denied to this user", f"allow {probe.needs}")
    return finding(f"{probe.operation.value} failed: {probe.answer}", "fix it on the cluster, then measure again")
