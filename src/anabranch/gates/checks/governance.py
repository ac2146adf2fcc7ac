"""Gate: people answer for it, and the data stays under the rules and in the place that its target has."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, failed, judged, unknown, untested

NAME = "governance"
_NOBODY = frozenset({"?", "-", "n/a", "na", "nobody", "none", "somebody", "someone", "tba", "tbd", "todo", "unknown"})
"""What people write where a name is asked for and they have none."""


def judge_governance(facts: GateFacts) -> Judgement:
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


def _findings(facts: GateFacts) -> Iterator[GateFinding]:
    spec, pipeline = facts.contract.spec, facts.pipeline.spec
    named = {
        "spec.owner of the contract": spec.owner,
        "spec.owner of the pipeline": pipeline.owner,
        "spec.rollback.authority of the contract": spec.rollback.authority,
    }
    for key, name in named.items():
        if name.strip().lower() in _NOBODY:
            yield failed(f"{key} is {name!r}: nobody answers", f"a name as {key}")
    if facts.approvers == ():
        yield untested("an approval is needed, and nobody is named for it", "name the approvers")
    yield from _of_residency(pipeline.residency, facts.residency, pipeline.target.table)


def _of_residency(wanted: str | None, found: str | None, table: str) -> Iterator[GateFinding]:
    tag = f"the property residency on {table}"
    if wanted is None and found is None:
        words = "neither the pipeline nor the target says where the data must stay"
        yield unknown(words, f"residency in the pipeline, and {tag}")
    elif wanted is None:
        yield untested(f"the target says {found}; the pipeline declares no residency", "residency in the pipeline")
    elif found is None:
        yield untested(f"the data must stay in {wanted}, and the target does not say where it is", tag)
    elif found != wanted:
        words = f"the data must stay in {wanted}, and the target says {found}"
        yield failed(words, f"a target in {wanted}, or another residency in the pipeline")
