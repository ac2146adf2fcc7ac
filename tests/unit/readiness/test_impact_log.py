"""Requests and results of an experiment in a run's audit records: which request is open, and what its end leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased, submitted
from tests.unit.gates.facts import good_facts
from tests.unit.readiness.test_live_blocks import impact

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.gates.impact.design import Design
from anabranch.gates.impact.stored import newest_impact
from anabranch.readiness.impact_log import AuditedExperiments
from anabranch.readiness.impact_requests import ENDED, REQUESTED, STARTED, ImpactRequest
from anabranch.runs.run_lease import RunLease

ASKED = {"pairs": 8, "block_seconds": 20.0, "seed": 7}
DESIGN = Design(8, 20.0, 5.0, 7)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        submitted(opened)
        yield opened


@pytest.fixture
def log(store: SqlRunStore, tmp_path: Path) -> AuditedExperiments:
    facts = good_facts(tmp_path)
    lease = RunLease(store.reader, store.writer, "r1", leased(store).epoch, "ada")
    return AuditedExperiments(lease, facts.plan, lambda: facts.contract)


def ask(store: SqlRunStore, run: str = "r1", **details: object) -> None:
    store.writer.record_act(REQUESTED, actor="bob", run_id=run, details={**ASKED, **details})


def asked(log: AuditedExperiments) -> ImpactRequest:
    request = log.requested()
    assert request is not None
    return request


def test_without_a_request_there_is_nothing_to_do(log: AuditedExperiments, store: SqlRunStore) -> None:
    submitted(store, "r2", replace(store.reader.run("r1").target, table="lake.shop.other"))
    ask(store, "r2")
    assert log.requested() is None, "another run's request is not this one's"


def test_a_request_is_open_from_its_record_to_its_end(log: AuditedExperiments, store: SqlRunStore) -> None:
    ask(store)
    request = asked(log)
    assert (request.by, request.pairs, request.block_seconds, request.seed) == ("bob", 8, 20.0, 7)
    log.started(request, DESIGN)
    assert log.requested() == request, "it goes on in another process after a crash"
    log.ended(request, None, "the replay has ended")
    assert log.requested() is None


def test_the_newest_request_counts_and_the_end_of_the_one_before_does_not_close_it(
    log: AuditedExperiments, store: SqlRunStore
) -> None:
    ask(store)
    first = asked(log)
    ask(store, pairs=12)
    second = asked(log)
    assert (second.pairs, second.number > first.number) == (12, True)
    log.ended(first, None, "replaced")
    assert log.requested() == second


def test_an_end_without_a_result_leaves_its_reason_and_no_evidence(log: AuditedExperiments, store: SqlRunStore) -> None:
    ask(store)
    log.ended(asked(log), None, "live's position is unknown")
    record = store.reader.audit(run_id="r1", action=ENDED)[-1]
    details = json.loads(record.details)
    assert (record.actor, details["blocks"], details["reason"]) == ("ada", 0, "live's position is unknown")
    assert newest_impact(store.reader, log.plan, log.contract(), "r1") is None


def test_a_result_is_kept_as_evidence_of_who_asked_for_it(log: AuditedExperiments, store: SqlRunStore) -> None:
    ask(store)
    request = asked(log)
    log.started(request, DESIGN)
    found = impact((2.4, 2.0), (2.6, 2.0))
    log.ended(request, found, None)
    evidence = newest_impact(store.reader, log.plan, log.contract(), "r1")
    assert evidence is not None
    assert (evidence.by, evidence.found["blocks"]) == ("bob", found.document()["blocks"])
    [started] = store.reader.audit(run_id="r1", action=STARTED)
    assert json.loads(started.details)["design"] == DESIGN.document()
    assert json.loads(store.reader.audit(run_id="r1", action=ENDED)[-1].details)["blocks"] == 4
