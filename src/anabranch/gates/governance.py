"""Gate: people answer for it, and the data stays under the rules and in the place that its target has."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.colour import Colour
from anabranch.gates.facts import Facts
from anabranch.gates.gate import Finding, Judgement, judged

NAME = "governance"
_NOBODY = frozenset({"?", "-", "n/a", "na", "nobody", "none", "somebody", "someone", "tba", "tbd", "todo", "unknown"})
"""What people write where a name is asked for and they have none."""


def judge(facts: Facts) -> Judgement:
    spec, target = facts.contract.spec, facts.pipeline.spec.target.table
    return judged(
        NAME,
        list(_findings(facts)),
        f"{spec.owner} answers for it, {spec.rollback.authority} may undo it; staging is a branch of {target} itself, "
        f"under the same rules and in the same place ({facts.residency})",
        owner=spec.owner,
        at=facts.now,
        figures={
            "owner": spec.owner,
            "pipeline_owner": facts.pipeline.spec.owner,
            "approvers": None if facts.approvers is None else list(facts.approvers),
            "rollback_authority": spec.rollback.authority,
            "staging": f"a branch of {target}",
            "residency": facts.pipeline.spec.residency,
            "residency_of_target": facts.residency,
        },
    )


def _findings(facts: Facts) -> Iterator[Finding]:
    spec, pipeline = facts.contract.spec, facts.pipeline.spec
    named = {
        "spec.owner of the contract": spec.owner,
        "spec.owner of the pipeline": pipeline.owner,
        "spec.rollback.authority of the contract": spec.rollback.authority,
    }
    for key, name in named.items():
        if name.strip().lower() in _NOBODY:
            yield Finding(Colour.RED, f"{key} is {name!r}: nobody answers", f"a name as {key}")
    if facts.approvers == ():
        yield Finding(Colour.YELLOW, "an approval is needed, and nobody is named for it", "name the approvers")
    yield from _of_residency(pipeline.residency, facts.residency, pipeline.target.table)


def _of_residency(wanted: str | None, found: str | None, table: str) -> Iterator[Finding]:
    tag = f"the property residency on {table}"
    if wanted is None:
        yield Finding(
            Colour.YELLOW,
            "the pipeline does not say where its data must stay",
            f"residency in the pipeline, and {tag}",
        )
    elif found is None:
        yield Finding(Colour.YELLOW, f"the data must stay in {wanted}, and the target does not say where it is", tag)
    elif found != wanted:
        words = f"the data must stay in {wanted}, and the target says {found}"
        yield Finding(Colour.RED, words, f"a target in {wanted}, or another residency in the pipeline")
