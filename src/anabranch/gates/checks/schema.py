"""Gate: records from all over the range can be decoded by the declared schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, aged, failed, judged, never_measured, unknown, untested
from anabranch.plan.slices import offsets_in

NAME = "schema"
KIND = "schema"
LIFETIME = timedelta(days=7)
SURE = 2.0
"""Standard deviations of the bound: the range is within it in 39 of 40 cases."""
SHOWN = 5


@dataclass(frozen=True)
class BadRecord:
    partition: int
    offset: int
    reason: str

    def document(self) -> dict[str, Any]:
        return {"partition": self.partition, "offset": self.offset, "reason": self.reason}


def schema_document(sampled: int, bad: list[BadRecord], places: int, unread: int) -> dict[str, Any]:
    """As evidence. Of bad records it has the offset and the reason, never the content."""
    return {
        "sampled": sampled,
        "bad": len(bad),
        "places": places,
        "unread_places": unread,
        "first_bad": [each.document() for each in bad[:SHOWN]],
    }


def judge_schema(facts: GateFacts) -> Judgement:
    evidence, owner = facts.evidence.get(KIND), facts.pipeline.spec.owner
    if evidence is None:
        words = "no record of the range was decoded"
        return never_measured(NAME, words, owner=owner, at=facts.now, to_green=facts.measure)
    found: Mapping[str, Any] = evidence.found
    findings = []
    if found["bad"]:
        findings.append(_of_bad(facts, found))
    if found["unread_places"]:
        words = f"{found['unread_places']} of {found['places']} places of the range could not be read"
        none = found["unread_places"] >= found["places"]
        findings.append((unknown if none else untested)(words, f"let this user read the topic, then {facts.measure}"))
    elif not found["sampled"]:
        findings.append(unknown("the sampled places hold no record", facts.measure))
    otherwise = f"{found['sampled']:,} records from {found['places']} places of the range decode"
    figures = {name: found[name] for name in ("sampled", "bad", "places", "first_bad")}
    judgement = judged(NAME, findings, otherwise, owner=owner, at=evidence.at, figures=figures)
    return aged(judgement, evidence, facts.now, facts.measure)


def _of_bad(facts: GateFacts, found: Mapping[str, Any]) -> GateFinding:
    bad, sampled, cap = found["bad"], found["sampled"], facts.pipeline.spec.quarantine.max_records
    least = math.floor(at_least(bad / sampled, found["places"]) * offsets_in(facts.plan.source.ranges))
    first = found["first_bad"][0]
    where = f"partition {first['partition']}, offset {first['offset']}: {first['reason']}"
    words = f"{bad} of {sampled:,} sampled records can't be decoded ({where})"
    if least > cap:
        words += f"; the range has at least {least:,}, and quarantine.maxRecords is {cap:,}"
        return failed(words, "correct source.schema in the pipeline, or raise quarantine.maxRecords")
    return untested(words + "; they would be quarantined", "correct source.schema, or accept their quarantine")


def at_least(share: float, places: int) -> float:
    """The least share of the range, by such a share in the sample (Wilson's lower bound).

    A place counts as one observation, however many records it has: bad records come in runs or at regular distances.
    """
    spread = SURE**2 / places
    middle = share + spread / 2
    return max(0.0, (middle - math.sqrt(spread * (share * (1 - share) + spread / 4))) / (1 + spread))
