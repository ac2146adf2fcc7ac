"""Gate: named people are responsible, and staging stays under the target's access rules and in its residency."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, failed, judged, unknown, untested

NAME = "governance"
_NOBODY = frozenset({"?", "-", "n/a", "na", "nobody", "none", "somebody", "someone", "tba", "tbd", "todo", "unknown"})
"""Placeholders for a name."""


def judge_governance(facts: GateFacts) -> Judgement:
    spec, target = facts.contract.spec, facts.pipeline.spec.target.table
    return judged(
        NAME,
        list(_findings(facts)),
        f"owner {spec.owner}, rollback authority {spec.rollback.authority}; staging is a branch of {target}, "
        f"with the same access rules and residency ({facts.residency})",
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
            yield failed(f"{key} is {name!r}, which names no person or team", f"name a person or a team as {key}")
    if facts.approvers == ():
        yield untested("approval is required, and no approvers are named", "set roles.approvers of the context")
    yield from _of_residency(pipeline.residency, facts.residency, pipeline.target.table)


def _of_residency(wanted: str | None, found: str | None, table: str) -> Iterator[GateFinding]:
    tag = f"set the table property residency on {table}"
    if wanted is None and found is None:
        words = "neither the pipeline nor the target declares where the data must stay"
        yield unknown(words, f"set residency in the pipeline, and {tag}")
    elif wanted is None:
        yield untested(f"the target is in {found}; the pipeline declares no residency", "set residency in the pipeline")
    elif found is None:
        yield untested(f"the data must stay in {wanted}, and the target declares no residency", tag)
    elif found != wanted:
        words = f"the data must stay in {wanted}, and the target is in {found}"
        yield failed(words, f"use a target in {wanted}, or change residency in the pipeline")
