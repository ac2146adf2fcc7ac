"""Gate: a replay repeats no effect, neither on the table nor outside of it."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, failed, judged, unknown, untested

NAME = "side-effects"
SHOWN = 3


def judge_side_effects(facts: GateFacts) -> Judgement:
    declared, strategy = facts.pipeline.spec.effects, facts.plan.strategy
    sink = "merged by key" if strategy.whole_table else "whole partitions replaced"
    return judged(
        NAME,
        list(_findings(facts)),
        f"replaying again leaves the same rows ({sink}); effects: none is declared, and no import or call in the "
        "transform's code reaches outside",
        owner=facts.pipeline.spec.owner,
        at=facts.now,
        figures={
            "sink": strategy.value,
            "effects": None if declared is None else [effect.model_dump(mode="json") for effect in declared],
            "reaches": None if facts.reaches is None else list(facts.reaches),
        },
    )


def _findings(facts: GateFacts) -> Iterator[GateFinding]:
    declared, reaches = facts.pipeline.spec.effects, facts.reaches
    declare = "declare effects in the pipeline: none, or a list"
    repeated = [effect.name for effect in declared or () if effect.repeats]
    if repeated:
        yield failed(
            f"a replay would repeat: {', '.join(repeated)}",
            "suppress it in a replay and declare suppressed: true, or make it idempotent and declare idempotent: true",
        )
    elif declared:
        words = f"declared harmless in a replay, not tested: {', '.join(effect.name for effect in declared)}"
        yield untested(words, "move the effect out of the transform, then declare effects: none")
    if reaches is None:
        yield unknown("the transform's code could not be read", "fix the transform until `anabranch check` accepts it")
    elif declared is None and reaches:
        yield unknown(f"the pipeline declares no effects, and its code may reach outside: {_some(reaches)}", declare)
    elif declared is None:
        words = "the pipeline declares no effects; no import or call in its code reaches outside"
        yield untested(words, declare)
    elif not declared and reaches:
        words = f"effects: none is declared, and the code may reach outside: {_some(reaches)}"
        yield untested(words, "remove these from the transform, or declare the effects as a list")


def _some(places: tuple[str, ...]) -> str:
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return ", ".join(places[:SHOWN]) + more
