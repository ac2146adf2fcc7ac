"""Gate: replaying does nothing twice, neither to the table nor to the world around it."""

from __future__ import annotations

from anabranch.gates.colour import Colour
from anabranch.gates.facts import Facts
from anabranch.gates.gate import Finding, Judgement, judged

NAME = "side-effects"


def judge(facts: Facts) -> Judgement:
    declared, strategy = facts.pipeline.spec.effects, facts.plan.strategy
    sink = "merged by key" if strategy.whole_table else "whole partitions replaced"
    findings = []
    if declared is None:
        words = "the pipeline does not say what its transform does besides giving rows"
        findings.append(Finding(Colour.YELLOW, words, "effects: none in the pipeline, or a list of them"))
    twice = [effect.name for effect in declared or () if effect.repeats]
    if twice:
        findings.append(
            Finding(
                Colour.RED,
                f"a replay would do again: {', '.join(twice)}",
                "leave it out in a replay and write suppressed: true, or make it idempotent and write idempotent: true",
            )
        )
    harmless = ", ".join(effect.name for effect in declared or ()) or "none"
    return judged(
        NAME,
        findings,
        f"the table is written so that again changes nothing ({sink}); other effects: {harmless}",
        owner=facts.pipeline.spec.owner,
        at=facts.now,
        figures={
            "sink": strategy.value,
            "effects": None if declared is None else [effect.model_dump(mode="json") for effect in declared],
        },
    )
