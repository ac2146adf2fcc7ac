"""Each gate alone: green if all was measured and good, and what of the facts turns it yellow or red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gates.facts import (
    COST,
    NO_EFFECT,
    NOW,
    REHEARSAL,
    ROLLBACK,
    SAMPLE,
    STORAGE,
    evidence,
    good_facts,
    impact,
    probes,
)

from anabranch.contract.backfill import RetentionTerms, Ungoverned
from anabranch.contract.effects import Effect
from anabranch.contract.pipeline import Live
from anabranch.gates.checks.compatibility import Operation, Probe, ProbeOutcome
from anabranch.gates.checks.observability import METRICS
from anabranch.gates.checks.rollback import refusal_of
from anabranch.gates.colour import Colour
from anabranch.gates.facts import GateFacts, LiveReading, MetricsReading, RetentionReading
from anabranch.gates.gate import Judgement
from anabranch.gates.scorecard import GATES
from anabranch.plan.drift import CodeChanged, PartitionsAdded, RetentionPassed
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.ports import OffsetAtTime
from anabranch.plan.quotas import QuotaForecast
from anabranch.plan.retention.facts import PartitionLog, RetentionFacts, RetentionSettings
from anabranch.runs.audit import ChainFlaw

Change = Callable[[GateFacts], GateFacts]
MINUTE = timedelta(minutes=1)
GREEN, YELLOW, RED = Colour.GREEN, Colour.YELLOW, Colour.RED


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> GateFacts:
    return _facts(tmp_path_factory.mktemp("gates") / "shop")


@lru_cache(1)
def _facts(folder: Path) -> GateFacts:
    return good_facts(folder)


def measured(kind: str, found: dict[str, Any], age: timedelta = timedelta(hours=1)) -> Change:
    return lambda facts: replace(facts, evidence={**facts.evidence, kind: evidence(kind, found, age)})


def unmeasured(kind: str) -> Change:
    return lambda facts: replace(facts, evidence={k: e for k, e in facts.evidence.items() if k != kind})


def pipeline(**spec: Any) -> Change:
    def change(facts: GateFacts) -> GateFacts:
        changed = facts.pipeline.spec.model_copy(update=spec)
        return replace(facts, pipeline=facts.pipeline.model_copy(update={"spec": changed}))

    return change


def contract(**spec: Any) -> Change:
    def change(facts: GateFacts) -> GateFacts:
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


def expiring_in(
    left: timedelta, *, up_to: str | None = None, withheld: str | None = None, measured_path: bool = True
) -> Change:
    """The first record of every partition expires so long from now. All is read in less than a second."""

    def change(facts: GateFacts) -> GateFacts:
        kept = timedelta(days=7)
        first = OffsetAtTime(0, round((NOW - kept + left).timestamp() * 1000))
        logs = {p: PartitionLog(0, 10**6, (first,)) for p in facts.plan.source.ranges}
        found = RetentionFacts("shop.orders", NOW, RetentionSettings(kept // timedelta(milliseconds=1), None), logs)
        facts = replace(facts, retention=RetentionReading(found, facts.plan.slices, withheld))
        if up_to is not None:
            facts = contract(retention=RetentionTerms.model_validate({"extendUpTo": up_to}))(facts)
        return unmeasured("rehearsal")(facts if measured_path else unmeasured("storage")(facts))

    return change


def proof(kind: Proof) -> Change:
    return lambda facts: replace(
        facts, plan=replace(facts.plan, source=replace(facts.plan.source, proof={0: Proof.MAP, 1: kind}))
    )


def unproven(facts: GateFacts) -> GateFacts:
    return replace(facts, plan=replace(facts.plan, source=replace(facts.plan.source, proof={})))


def drift(*found: Any) -> Change:
    return lambda facts: replace(facts, drifts=found)


def live(reading: LiveReading) -> Change:
    return lambda facts: replace(facts, live=reading)


def closing(**changes: Any) -> Change:
    return lambda facts: replace(facts, closing=replace(facts.closing, **changes))


def broken(facts: GateFacts) -> GateFacts:
    verdict = replace(facts.closing.audit, flaw=ChainFlaw.ALTERED, seq=3, reason="its fields do not match its hash")
    return replace(facts, closing=replace(facts.closing, audit=verdict))


def quota(**changes: Any) -> Change:
    return lambda facts: replace(facts, quota=QuotaForecast(enabled=True, **changes))


BAD = {**SAMPLE, "first_bad": [{"partition": 0, "offset": 9, "reason": "the value is not JSON"}]}
GROUPS, QUOTAS, ACLS = Operation.GROUPS, Operation.QUOTAS, Operation.ACLS
DENIED = {operation: Probe(operation, ProbeOutcome.DENIED, "AUTHORIZATION", "Read on it") for operation in Operation}
OLD = timedelta(days=2)
MAIL = Effect(name="mail to the customer")

FAILED, UNKNOWN = "failed", "unknown"
SUPPRESSED = MAIL.model_copy(update={"suppressed": True})
NO_LIMITS = Live()


def both(*changes: Change) -> Change:
    def change(facts: GateFacts) -> GateFacts:
        for each in changes:
            facts = each(facts)
        return facts

    return change


def rehearsed(**changes: Any) -> Change:
    return measured("rehearsal", {**REHEARSAL, **changes})


def metrics(reading: MetricsReading) -> Change:
    return lambda facts: replace(facts, metrics=reading)


def residency(target: str | None) -> Change:
    return lambda facts: replace(facts, residency=target)


def reaches(*places: str) -> Change:
    return lambda facts: replace(facts, reaches=places)


NOWHERE = MetricsReading("http://127.0.0.1:9/metrics", missing=METRICS, refused="Connection refused")
SHUT = MetricsReading(None)
HARM, SLIGHT = (2.8, 3.2, 3.0, 2.9, 3.1, 3.0), (1.02, 0.98, 1.01, 0.99, 1.03, 0.97)
VAGUE, FIVE = (2.0, 0.5, 1.5, 0.7, 1.8, 0.6), (1.02, 0.98, 1.01, 0.99, 1.03)
"""Ratios of live's latency with and without the replay, pair by pair; live.maxLatency is 10 s."""
CASES: list[tuple[str, Change, Colour, str | None, str]] = [
    ("compatibility", unmeasured("compatibility"), RED, UNKNOWN, "no operation was tried"),
    ("compatibility", measured("compatibility", probes(DENIED[Operation.CONSUME])), RED, FAILED, "consume is denied"),
    ("compatibility", measured("compatibility", probes(DENIED[Operation.QUOTAS])), YELLOW, None, "quotas is denied"),
    (
        "compatibility",
        measured("compatibility", probes(Probe(GROUPS, ProbeOutcome.FAILED, "gone"))),
        RED,
        FAILED,
        "gone",
    ),
    (
        "compatibility",
        measured("compatibility", probes(Probe(GROUPS, ProbeOutcome.UNTRIED, "x"))),
        RED,
        UNKNOWN,
        "tried",
    ),
    (
        "compatibility",
        measured("compatibility", probes(Probe(QUOTAS, ProbeOutcome.UNTRIED, "x"))),
        YELLOW,
        None,
        "tried",
    ),
    ("compatibility", measured("compatibility", probes(Probe(ACLS, ProbeOutcome.ABSENT))), GREEN, None, "8 operations"),
    ("compatibility", measured("compatibility", {**probes(), "left_behind": ["topic t"]}), YELLOW, None, "topic t"),
    ("compatibility", measured("compatibility", probes(), OLD), YELLOW, None, "expired"),
    ("compatibility", measured("compatibility", probes(DENIED[Operation.CONSUME]), OLD), RED, FAILED, "is denied"),
    ("offset-control", proof(Proof.WHOLE), GREEN, None, "offsets pinned"),
    ("offset-control", proof(Proof.SLACK), YELLOW, None, "partition 1"),
    ("offset-control", proof(Proof.BOTH), YELLOW, None, "declared slack"),
    ("offset-control", unproven, RED, UNKNOWN, "no proof that partition 0"),
    ("offset-control", drift(PartitionsAdded(1, 2)), YELLOW, None, "partitions"),
    ("offset-control", drift(RetentionPassed({0: (0, 10)})), RED, FAILED, "retention has deleted"),
    ("offset-control", drift(CodeChanged("a", "b"), PartitionsAdded(1, 2)), RED, FAILED, "code has changed"),
    ("storage-path", unmeasured("storage"), RED, UNKNOWN, "were not measured"),
    ("storage-path", storage(refused="TopicAuthorizationFailedError"), RED, FAILED, "could not be read"),
    ("storage-path", storage(read_bytes=0), RED, UNKNOWN, "no record"),
    ("storage-path", storage(settings_seen=False), RED, UNKNOWN, "hidden"),
    ("storage-path", storage(tiered=None), RED, UNKNOWN, "tiered is unknown"),
    ("storage-path", storage(tiered=40), GREEN, None, "40% of it tiered"),
    ("storage-path", storage(retention_bytes=10), YELLOW, None, "limited by size"),
    ("storage-path", kept_for(timedelta(days=3)), GREEN, None, "until 2025-07-04T12:00:00Z"),
    ("storage-path", kept_for(30 * MINUTE), YELLOW, None, "leaves 30m"),
    ("storage-path", kept_for(timedelta()), RED, FAILED, "at any moment"),
    ("storage-path", expiring_in(60 * MINUTE), GREEN, None, "retained"),
    ("storage-path", expiring_in(MINUTE / 600), RED, FAILED, "before it is read"),
    ("storage-path", expiring_in(timedelta()), RED, FAILED, "at any moment"),
    ("storage-path", expiring_in(timedelta(), measured_path=False), RED, FAILED, "at any moment"),
    ("storage-path", expiring_in(MINUTE / 600, up_to="14d"), YELLOW, None, "extended to 14d"),
    ("storage-path", expiring_in(timedelta(), up_to="14d", withheld="an approval is needed"), RED, FAILED, "approval"),
    ("storage-path", expiring_in(timedelta(), up_to="1d"), RED, FAILED, "at any moment"),
    ("storage-path", kept_for(-MINUTE), RED, FAILED, "at any moment"),
    ("storage-path", measured("storage", STORAGE.document(), OLD), YELLOW, None, "expired"),
    ("capacity", unmeasured("rehearsal"), RED, UNKNOWN, "was not rehearsed"),
    ("capacity", rehearsed(live_lag_with=101), RED, FAILED, "101 records behind"),
    ("capacity", rehearsed(live_latency_with=10.5), RED, FAILED, "live.maxLatency is 10s"),
    ("capacity", rehearsed(live_latency_with=None), RED, UNKNOWN, "latency beside the replay was not measured"),
    ("capacity", rehearsed(live_lag_with=None), RED, UNKNOWN, "lag beside the replay was not measured"),
    ("capacity", both(pipeline(live=NO_LIMITS), rehearsed(live_lag_with=None)), RED, UNKNOWN, "not measured"),
    (
        "capacity",
        quota(refused="it needs AlterConfigs"),
        YELLOW,
        None,
        "only its client limits it: it needs AlterConfigs",
    ),
    ("capacity", pipeline(live=NO_LIMITS), YELLOW, None, "sets no limit"),
    (
        "capacity",
        contract(governor=Ungoverned(off="live is down")),
        RED,
        UNKNOWN,
        "governor off, so that nothing slows",
    ),
    ("capacity", measured("rehearsal", REHEARSAL, OLD), YELLOW, None, "expired"),
    ("capacity", unmeasured("impact"), YELLOW, None, "not measured in pairs"),
    ("capacity", measured("impact", NO_EFFECT, OLD), YELLOW, None, "not measured in pairs"),
    ("capacity", measured("impact", impact(*FIVE)), YELLOW, None, "5 of at least 6 pairs count"),
    ("capacity", measured("impact", impact(*HARM)), GREEN, None, "Live latency × 3.00 with the replay"),
    ("capacity", measured("impact", impact(*HARM, latency=4.0)), RED, FAILED, "at least 11.2 s"),
    ("capacity", measured("impact", impact(*HARM, latency=3.5)), YELLOW, None, "may reach 11.2 s"),
    ("capacity", measured("impact", impact(*VAGUE, latency=8.0)), YELLOW, None, "may reach 16.0 s"),
    ("capacity", measured("impact", impact(*SLIGHT, latency=9.9)), GREEN, None, "No effect on live latency found"),
    ("capacity", measured("impact", impact(*SLIGHT, latency=10.1)), YELLOW, None, "may reach 10.4 s"),
    ("capacity", measured("impact", impact(*SLIGHT, lags=[100.0] * 6)), RED, FAILED, "at least 105.0 records"),
    ("capacity", measured("impact", impact(*SLIGHT, lags=[90.0, 97] * 3)), YELLOW, None, "may reach 102.0 records"),
    ("capacity", measured("impact", impact(*SLIGHT, rate=2**19)), YELLOW, None, "measured at 0.5 MB/s"),
    ("capacity", measured("impact", impact(*SLIGHT, rate=None)), GREEN, None, "No effect"),
    ("cost", unmeasured("cost"), RED, UNKNOWN, "not estimated"),
    ("cost", measured("cost", {**COST, "amount": 5.01}), RED, FAILED, "estimated cost 5.01 EUR"),
    ("cost", measured("cost", {**COST, "rests_on": "assumptions of the price book"}), YELLOW, None, "no rehearsal"),
    ("cost", contract(budget=None), YELLOW, None, "no limit"),
    ("cost", measured("cost", COST, OLD), YELLOW, None, "expired"),
    ("governance", contract(owner="TBD"), RED, FAILED, "names no person"),
    ("governance", pipeline(owner="unknown"), RED, FAILED, "names no person"),
    ("governance", residency("us"), RED, FAILED, "is in us"),
    ("governance", residency(None), YELLOW, None, "the target declares no residency"),
    ("governance", pipeline(residency=None), YELLOW, None, "declares no residency"),
    ("governance", both(pipeline(residency=None), residency(None)), RED, UNKNOWN, "where the data must stay"),
    ("governance", lambda facts: replace(facts, approvers=()), YELLOW, None, "no approvers are named"),
    ("governance", lambda facts: replace(facts, approvers=("bob",)), GREEN, None, "owner shop"),
    ("schema", unmeasured("schema"), RED, UNKNOWN, "no record of the range was decoded"),
    ("schema", measured("schema", {**BAD, "bad": 95}), RED, FAILED, "quarantine.maxRecords is 10"),
    ("schema", measured("schema", {**BAD, "bad": 2}), YELLOW, None, "2 of 100 sampled"),
    ("schema", measured("schema", {**BAD, "bad": 50, "places": 4}), YELLOW, None, "50 of 100 sampled"),
    ("schema", measured("schema", {**BAD, "bad": 1, "sampled": 1}), RED, FAILED, "1 of 1 sampled"),
    ("schema", measured("schema", {**SAMPLE, "unread_places": 3}), YELLOW, None, "3 of 8 places"),
    ("schema", measured("schema", {**SAMPLE, "sampled": 0, "unread_places": 8}), RED, UNKNOWN, "8 of 8 places"),
    ("schema", measured("schema", {**SAMPLE, "sampled": 0}), RED, UNKNOWN, "hold no record"),
    ("schema", measured("schema", SAMPLE, OLD), YELLOW, None, "expired"),
    ("rollback", unmeasured("rollback"), RED, UNKNOWN, "were not rehearsed"),
    ("rollback", measured("rollback", replace(ROLLBACK, same=False).document()), RED, FAILED, "did not restore"),
    ("rollback", measured("rollback", refusal_of("target.row-deletes", "deletes", "compact")), RED, FAILED, "deletes"),
    ("rollback", measured("rollback", ROLLBACK.document(), OLD), YELLOW, None, "expired"),
    ("observability", live(LiveReading(None, None)), RED, UNKNOWN, "lag is unknown"),
    ("observability", live(LiveReading(3, "table")), GREEN, None, "its commits to the table"),
    ("observability", live(LiveReading(None, None, "denied")), RED, UNKNOWN, "denied"),
    ("observability", metrics(SHUT), YELLOW, None, "no metrics endpoint"),
    ("observability", metrics(NOWHERE), YELLOW, None, "Connection refused"),
    ("observability", metrics(replace(NOWHERE, refused=None)), YELLOW, None, "does not serve"),
    ("side-effects", both(pipeline(effects=None), reaches("t.py:1 smtplib")), RED, UNKNOWN, "t.py:1 smtplib"),
    ("side-effects", pipeline(effects=None), YELLOW, None, "declares no effects"),
    ("side-effects", reaches("t.py:1 smtplib"), YELLOW, None, "t.py:1 smtplib"),
    ("side-effects", lambda facts: replace(facts, reaches=None), RED, UNKNOWN, "could not be read"),
    ("side-effects", pipeline(effects=(MAIL,)), RED, FAILED, "mail to the customer"),
    ("side-effects", pipeline(effects=(SUPPRESSED,)), YELLOW, None, "mail to the customer"),
    ("side-effects", pipeline(effects=(MAIL.model_copy(update={"idempotent": True}),)), YELLOW, None, "mail"),
    ("closure", closing(refused="File exists"), RED, FAILED, "File exists"),
    ("closure", closing(free=2**20), YELLOW, None, "1 MiB"),
    ("closure", broken, RED, FAILED, "broken at record 3"),
]

NOTHING_MEASURED = both(
    *(unmeasured(kind) for kind in ("compatibility", "storage", "rehearsal", "cost", "schema", "rollback")),
    live(LiveReading(None, None)),
    metrics(SHUT),
    lambda facts: replace(facts, reaches=None, residency=None, plan=unproven(facts).plan),
    closing(refused="never tried"),
)
"""No evidence and nothing seen. What files declare stays: owners, budget, limits, effects, residency."""
NOTHING_DECLARED = both(NOTHING_MEASURED, contract(budget=None), pipeline(effects=None, residency=None, live=NO_LIMITS))


BY_THE_PLAN_ALONE: frozenset[str] = frozenset()
"""Gates that judge only what the plan pins, which is always known: they need a red case, and no yellow one."""


def judgement(gate: str, facts: GateFacts) -> Judgement:
    return GATES[gate](facts)


@pytest.mark.parametrize("gate", GATES)
def test_every_gate_is_green_where_all_was_measured_and_good(gate: str, facts: GateFacts) -> None:
    found = judgement(gate, facts)
    assert (found.gate, found.colour, found.to_green) == (gate, GREEN, ""), found.words
    assert found.owner
    assert found.words


@pytest.mark.parametrize("gate", [name for name in GATES if name not in BY_THE_PLAN_ALONE])
def test_a_gate_is_red_where_nothing_is_known_and_no_setting_turns_it_green(gate: str, facts: GateFacts) -> None:
    assert judgement(gate, NOTHING_DECLARED(facts)).colour is RED
    assert judgement(gate, NOTHING_MEASURED(facts)).colour in (RED, YELLOW), "by settings alone, at most yellow"


@pytest.mark.parametrize("gate", ["compatibility", "storage-path", "schema", "rollback", "capacity", "cost"])
def test_old_evidence_is_not_green(gate: str, facts: GateFacts) -> None:
    later = replace(facts, now=NOW + timedelta(days=3))
    assert judgement(gate, later).colour is YELLOW


@pytest.mark.parametrize(
    ("gate", "change", "colour", "cause", "words"), CASES, ids=[f"{case[0]}-{case[-1]}" for case in CASES]
)
def test_what_turns_a_gate(
    gate: str, change: Change, colour: Colour, cause: str | None, words: str, facts: GateFacts
) -> None:
    found = judgement(gate, change(facts))
    assert (found.colour, found.cause) == (colour, cause), found.words
    assert words in found.words
    assert bool(found.to_green) == (colour is not GREEN), "what to do is said, and only if there is something to do"


def test_every_gate_turns_both_ways() -> None:
    turned = {(gate, colour) for gate, _, colour, _, _ in CASES}
    needed = {(gate, RED) for gate in GATES} | {(gate, YELLOW) for gate in GATES if gate not in BY_THE_PLAN_ALONE}
    assert needed - turned == set(), "add these cases to CASES"


@pytest.mark.parametrize("gate", ["compatibility", "storage-path", "schema", "rollback", "capacity", "cost"])
def test_what_rests_on_evidence_says_of_when_and_until_when(gate: str, facts: GateFacts) -> None:
    found = judgement(gate, facts)
    assert (found.at, found.good_until) == (NOW - timedelta(hours=1), NOW + timedelta(hours=23))
