"""Evidence counts for the backfill that it was measured for, and for no other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gates.facts import NOW, good_facts

from anabranch.gates import binding
from anabranch.gates.binding import Binding
from anabranch.gates.evidence import Evidence
from anabranch.gates.facts import GateFacts
from anabranch.runs.heads import Head

ANOTHER = "f" * 64


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> GateFacts:
    folder: Path = tmp_path_factory.mktemp("binding")
    return good_facts(folder / "shop")


def kept(bound: Binding) -> Evidence:
    return Evidence("any", bound.subject, NOW, None, "ada", {"rate": 1, "about": dict(bound.about)})


def budgeted(facts: GateFacts, **budget: Any) -> GateFacts:
    spec = facts.contract.spec
    assert spec.budget is not None
    changed = spec.model_copy(update={"budget": spec.budget.model_copy(update=budget)})
    return replace(facts, contract=facts.contract.model_copy(update={"spec": changed}))


def rehearsal(facts: GateFacts) -> Binding:
    return binding.of_rehearsal(facts.plan, facts.contract)


def test_a_rehearsal_counts_for_every_plan_of_its_contract(facts: GateFacts) -> None:
    moved = replace(facts, plan=replace(facts.plan, target=replace(facts.plan.target, base=Head("991"))))
    assert moved.plan.hash != facts.plan.hash
    assert rehearsal(moved).holds(kept(rehearsal(facts))), "live went on, and the contract is the same"


def test_a_rehearsal_does_not_count_for_another_contract_rate_code_or_topic(facts: GateFacts) -> None:
    evidence, plan = kept(rehearsal(facts)), facts.plan
    others = {
        "contract": replace(facts, plan=replace(plan, contract=ANOTHER)),
        "rate": budgeted(facts, bytes_per_second=2**19),
        "no rate": budgeted(facts, bytes_per_second=None),
        "code": replace(facts, plan=replace(plan, code=ANOTHER)),
        "topic": replace(facts, plan=replace(plan, source=replace(plan.source, uuid="another"))),
    }
    assert rehearsal(facts).holds(evidence)
    assert [name for name, other in others.items() if rehearsal(other).holds(evidence)] == []
    assert rehearsal(facts).about["bytes_per_second"] == 2**20


def test_what_was_measured_of_another_plan_user_or_table_does_not_count(facts: GateFacts) -> None:
    plan = facts.plan
    other = replace(plan, target=replace(plan.target, base=Head("991")))
    shape = partial(binding.of_rollback, table="uuid", schema="digest")
    pairs = [
        (binding.of_storage(plan), binding.of_storage(other)),
        (binding.of_schema(plan, reading="a"), binding.of_schema(plan, reading="b")),
        (binding.of_schema(plan, reading="a"), binding.of_schema(other, reading="a")),
        (shape(plan, spec=0), shape(plan, spec=1)),
        (shape(plan, spec=0), shape(other, spec=0)),
        (
            binding.of_compatibility(plan, cluster="c", user="ann"),
            binding.of_compatibility(plan, cluster="c", user="bob"),
        ),
        (binding.of_cost(plan), binding.of_cost(other)),
    ]
    for own, another in pairs:
        assert own.holds(kept(own))
        assert not own.holds(kept(another))
    by_user = binding.of_compatibility(plan, cluster="c", user="ann")
    assert binding.of_compatibility(other, cluster="c", user="ann").holds(kept(by_user)), "any plan of the topic"
