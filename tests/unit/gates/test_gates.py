"""Each gate alone: green if all was measured and good, and what of the facts turns it yellow or red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gates.facts import NOW, REHEARSAL, ROLLBACK, SAMPLE, STORAGE, evidence, good_facts, probes

from anabranch.contract.effects import Effect
from anabranch.gates.colour import Colour
from anabranch.gates.compatibility import Operation, Outcome, Probe
from anabranch.gates.facts import Facts, LiveReading
from anabranch.gates.gate import Judgement
from anabranch.gates.rollback import refusal_of
from anabranch.gates.scorecard import GATES
from anabranch.plan.completeness import Proof
from anabranch.plan.drift import CodeChanged, PartitionsAdded, RetentionPassed
from anabranch.runs.audit import Flaw

Change = Callable[[Facts], Facts]
MINUTE = timedelta(minutes=1)
GREEN, YELLOW, RED = Colour.GREEN, Colour.YELLOW, Colour.RED


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    return _facts(tmp_path_factory.mktemp("gates") / "shop")


@lru_cache(1)
def _facts(folder: Path) -> Facts:
    return good_facts(folder)


def measured(kind: str, found: dict[str, Any], age: timedelta = timedelta(hours=1)) -> Change:
    return lambda facts: replace(facts, evidence={**facts.evidence, kind: evidence(kind, found, age)})


def unmeasured(kind: str) -> Change:
    return lambda facts: replace(facts, evidence={k: e for k, e in facts.evidence.items() if k != kind})


def pipeline(**spec: Any) -> Change:
    def change(facts: Facts) -> Facts:
        changed = facts.pipeline.spec.model_copy(update=spec)
        return replace(facts, pipeline=facts.pipeline.model_copy(update={"spec": changed}))

    return change


def contract(**spec: Any) -> Change:
    def change(facts: Facts) -> Facts:
        changed = facts.contract.spec.model_copy(update=spec)
        return replace(facts, contract=facts.contract.model_copy(update={"spec": changed}))

    return change


def storage(**changes: Any) -> Change:
    return measured("storage", replace(STORAGE, **changes).document())


def kept_for(left: timedelta) -> Change:
    """Retention reaches the first record so long from now. Reading takes a second at the probed rate."""
    first = NOW - timedelta(days=10)
    retention = (timedelta(days=10) + left) // timedelta(milliseconds=1)
    return storage(first_ms=round(first.timestamp() * 1000), retention_ms=retention)


def proof(kind: Proof) -> Change:
    return lambda facts: replace(
        facts, plan=replace(facts.plan, source=replace(facts.plan.source, proof={0: Proof.MAP, 1: kind}))
    )


def drift(*found: Any) -> Change:
    return lambda facts: replace(facts, drifts=found)


def live(reading: LiveReading) -> Change:
    return lambda facts: replace(facts, live=reading)


def closing(**changes: Any) -> Change:
    return lambda facts: replace(facts, closing=replace(facts.closing, **changes))


def broken(facts: Facts) -> Facts:
    verdict = replace(facts.closing.audit, flaw=Flaw.ALTERED, seq=3, reason="its fields do not give its hash")
    return replace(facts, closing=replace(facts.closing, audit=verdict))


BAD = {**SAMPLE, "first_bad": [{"partition": 0, "offset": 9, "reason": "the value is not JSON"}]}
GROUPS = Operation.GROUPS
DENIED = {operation: Probe(operation, Outcome.DENIED, "AUTHORIZATION", "Read on it") for operation in Operation}
OLD = timedelta(days=2)
MAIL = Effect(name="mail to the customer")

CASES: list[tuple[str, Change, Colour, str]] = [
    ("compatibility", unmeasured("compatibility"), YELLOW, "never tried"),
    ("compatibility", measured("compatibility", probes(DENIED[Operation.CONSUME])), RED, "consume is denied"),
    ("compatibility", measured("compatibility", probes(DENIED[Operation.QUOTAS])), YELLOW, "quotas is denied"),
    ("compatibility", measured("compatibility", probes(Probe(GROUPS, Outcome.FAILED, "gone"))), RED, "gone"),
    (
        "compatibility",
        measured("compatibility", probes(Probe(GROUPS, Outcome.UNTRIED, "x"))),
        YELLOW,
        "tried",
    ),
    ("compatibility", measured("compatibility", probes(Probe(Operation.ACLS, Outcome.ABSENT))), GREEN, "8 operations"),
    ("compatibility", measured("compatibility", {**probes(), "left_behind": ["topic t"]}), YELLOW, "topic t"),
    ("compatibility", measured("compatibility", probes(), OLD), YELLOW, "too long ago"),
    ("compatibility", measured("compatibility", probes(DENIED[Operation.CONSUME]), OLD), RED, "consume is denied"),
    ("offset-control", proof(Proof.WHOLE), GREEN, "offsets pinned"),
    ("offset-control", proof(Proof.SLACK), YELLOW, "partition 1"),
    ("offset-control", proof(Proof.BOTH), YELLOW, "declared slack"),
    ("offset-control", drift(PartitionsAdded(1, 2)), YELLOW, "partitions"),
    ("offset-control", drift(RetentionPassed({0: (0, 10)})), RED, "retention has deleted"),
    ("offset-control", drift(CodeChanged("a", "b"), PartitionsAdded(1, 2)), RED, "code has changed"),
    ("storage-path", unmeasured("storage"), YELLOW, "never measured"),
    ("storage-path", storage(refused="TopicAuthorizationFailedError"), RED, "could not be read"),
    ("storage-path", storage(read_bytes=0), YELLOW, "no record"),
    ("storage-path", storage(settings_seen=False), YELLOW, "hidden"),
    ("storage-path", storage(tiered=None), YELLOW, "tiered is not known"),
    ("storage-path", storage(tiered=40), GREEN, "40% of it tiered"),
    ("storage-path", storage(retention_bytes=10), YELLOW, "limited by size"),
    ("storage-path", kept_for(timedelta(days=3)), GREEN, "until 2025-07-04T12:00:00Z"),
    ("storage-path", kept_for(30 * MINUTE), YELLOW, "leaves 30m"),
    ("storage-path", kept_for(timedelta()), RED, "any moment now"),
    ("storage-path", kept_for(-MINUTE), RED, "any moment now"),
    ("capacity", unmeasured("rehearsal"), YELLOW, "never rehearsed"),
    ("capacity", measured("rehearsal", {**REHEARSAL, "live_lag_with": 101}), RED, "101 records behind"),
    ("capacity", measured("rehearsal", {**REHEARSAL, "live_latency_with": 10.5}), RED, "may take 10s"),
    (
        "capacity",
        measured("rehearsal", {**REHEARSAL, "live_lag_with": None, "live_latency_with": None}),
        YELLOW,
        "did not run",
    ),
    ("capacity", measured("rehearsal", REHEARSAL, OLD), YELLOW, "too long ago"),
    ("cost", unmeasured("cost"), YELLOW, "nobody has estimated"),
    ("cost", measured("cost", {"amount": 5.01, "currency": "EUR"}), RED, "5.01 EUR are estimated"),
    ("cost", contract(budget=None), YELLOW, "no limit"),
    ("governance", contract(owner="TBD"), RED, "nobody answers"),
    ("governance", pipeline(owner="unknown"), RED, "nobody answers"),
    ("governance", lambda facts: replace(facts, residency="us"), RED, "says us"),
    ("governance", lambda facts: replace(facts, residency=None), YELLOW, "does not say"),
    ("governance", pipeline(residency=None), YELLOW, "where its data must stay"),
    ("governance", lambda facts: replace(facts, approvers=()), YELLOW, "nobody is named"),
    ("governance", lambda facts: replace(facts, approvers=("bob",)), GREEN, "shop answers"),
    ("schema", unmeasured("schema"), YELLOW, "no record of the range was tried"),
    ("schema", measured("schema", {**BAD, "bad": 95}), RED, "quarantine takes 10"),
    ("schema", measured("schema", {**BAD, "bad": 2}), YELLOW, "2 of 100 sampled"),
    ("schema", measured("schema", {**BAD, "bad": 50, "places": 4}), YELLOW, "50 of 100 sampled"),
    ("schema", measured("schema", {**BAD, "bad": 1, "sampled": 1}), RED, "1 of 1 sampled"),
    ("schema", measured("schema", {**SAMPLE, "unread_places": 3}), YELLOW, "3 of 8 places"),
    ("schema", measured("schema", {**SAMPLE, "sampled": 0}), YELLOW, "hold no record"),
    ("rollback", unmeasured("rollback"), YELLOW, "never rehearsed"),
    ("rollback", measured("rollback", replace(ROLLBACK, same=False).document()), RED, "not as before"),
    ("rollback", measured("rollback", refusal_of("target.row-deletes", "deletes", "compact")), RED, "deletes"),
    ("rollback", measured("rollback", ROLLBACK.document(), OLD), YELLOW, "too long ago"),
    ("observability", live(LiveReading(None, None)), YELLOW, "nobody says"),
    ("observability", live(LiveReading(3, "table")), GREEN, "its commits to the table"),
    ("observability", live(LiveReading(None, None, "denied")), RED, "denied"),
    ("observability", lambda facts: replace(facts, metrics=False), YELLOW, "no metrics"),
    ("side-effects", pipeline(effects=None), YELLOW, "does not say"),
    ("side-effects", pipeline(effects=(MAIL,)), RED, "mail to the customer"),
    ("side-effects", pipeline(effects=(MAIL.model_copy(update={"suppressed": True}),)), GREEN, "mail to the customer"),
    ("side-effects", pipeline(effects=(MAIL.model_copy(update={"idempotent": True}),)), GREEN, "mail to the customer"),
    ("closure", closing(refused="File exists"), RED, "File exists"),
    ("closure", closing(free=2**20), YELLOW, "1 MiB"),
    ("closure", broken, RED, "broken at record 3"),
]


def judgement(gate: str, facts: Facts) -> Judgement:
    return GATES[gate](facts)


@pytest.mark.parametrize("gate", GATES)
def test_every_gate_is_green_where_all_was_measured_and_good(gate: str, facts: Facts) -> None:
    found = judgement(gate, facts)
    assert (found.gate, found.colour, found.to_green) == (gate, GREEN, ""), found.words
    assert found.owner
    assert found.words


@pytest.mark.parametrize(
    ("gate", "change", "colour", "words"), CASES, ids=[f"{gate}-{words}" for gate, _, _, words in CASES]
)
def test_what_turns_a_gate(gate: str, change: Change, colour: Colour, words: str, facts: Facts) -> None:
    found = judgement(gate, change(facts))
    assert found.colour is colour, found.words
    assert words in found.words
    assert bool(found.to_green) == (colour is not GREEN), "what to do is said, and only if there is something to do"


def test_every_gate_turns_both_ways() -> None:
    turned = {(gate, colour) for gate, _, colour, _ in CASES}
    assert {(gate, colour) for gate in GATES for colour in (YELLOW, RED)} <= turned


@pytest.mark.parametrize("gate", ["compatibility", "storage-path", "schema", "rollback", "capacity", "cost"])
def test_what_rests_on_evidence_says_of_when_and_until_when(gate: str, facts: Facts) -> None:
    found = judgement(gate, facts)
    assert (found.at, found.good_until) == (NOW - timedelta(hours=1), NOW + timedelta(hours=23))
