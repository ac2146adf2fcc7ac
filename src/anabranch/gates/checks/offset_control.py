"""Gate: the offsets to read are pinned, still retained, and proven to be complete."""

from __future__ import annotations

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import Judgement, failed, judged, unknown, untested
from anabranch.plan.drift import forbids
from anabranch.plan.drift_errors import describe, error_of
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.slices import offsets_in

NAME = "offset-control"


def judge_offset_control(facts: GateFacts) -> Judgement:
    plan = facts.plan
    proven = {Proof.MAP, Proof.WHOLE}
    declared = sorted(number for number, proof in plan.source.proof.items() if proof not in proven)
    findings = [
        failed(describe(drift), error_of(plan, drift).remedy)
        if forbids(drift)
        else untested(describe(drift), "plan again if the added partitions matter")
        for drift in facts.drifts
    ]
    unproven = sorted(number for number in plan.source.ranges if number not in plan.source.proof)
    if unproven:
        words = f"the plan has no proof that partition {', '.join(map(str, unproven))} is read completely"
        findings.append(unknown(words, "plan again"))
    if declared:
        findings.append(
            untested(
                f"that partition {', '.join(map(str, declared))} is read completely rests on the declared slack",
                f"anabranch zones build {plan.pipeline}, then plan again",
            )
        )
    offsets = offsets_in(plan.source.ranges)
    return judged(
        NAME,
        findings,
        f"{offsets:,} offsets pinned by number, read committed, and known to hold every event of the range",
        owner=facts.contract.spec.owner,
        at=facts.now,
        figures={
            "offsets": offsets,
            "isolation": plan.source.isolation,
            "topic_uuid": plan.source.uuid,
            "complete_by": {str(number): proof.value for number, proof in sorted(plan.source.proof.items())},
        },
    )
