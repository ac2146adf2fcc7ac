"""The estimate that the cost gate and the closure record read: recorded once its quantities are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.plan.test_cost import METERED, book
from tests.unit.plan.world import NOW, World, hourly

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.gates.checks import cost as gate
from anabranch.gates.evidence import newest_evidence
from anabranch.plan.forecast.cost import bill
from anabranch.plan.forecast.pricing import ASSUMED, Estimate
from anabranch.plan.planner import Planned
from anabranch.readiness.estimates import LIFETIME, SizeUnknownError, record_estimate, record_estimate_if_known

ESTIMATE = Estimate(bill(book(brokerEgress=2.0), METERED), ASSUMED)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def planned(world: World) -> Planned:
    return world.plan([hourly(60)])


def of_size(planned: Planned, size: int | None) -> Planned:
    return replace(planned, estimates=replace(planned.estimates, bytes=size))


def test_an_estimate_is_evidence_of_its_plan_for_a_week(store: SqlRunStore, planned: Planned) -> None:
    found, recorded = record_estimate(store.writer, planned, ESTIMATE, by="ann", now=NOW)
    assert (found, recorded.good_until) == (ESTIMATE, NOW + LIFETIME)
    assert timedelta(days=7) == LIFETIME
    stored = newest_evidence(store.reader, gate.KIND, f"plan/{planned.plan.hash}")
    assert stored is not None
    assert stored.found == ESTIMATE.evidence()
    assert newest_evidence(store.reader, gate.KIND, "plan/other") is None


def test_without_an_estimate_the_topics_size_is_unknown_and_nothing_is_recorded(
    store: SqlRunStore, planned: Planned
) -> None:
    with pytest.raises(SizeUnknownError, match=r"shop\.orders is unknown") as refused:
        record_estimate(store.writer, planned, None, by="ann", now=NOW)
    assert refused.value.command == "anabranch rehearse -f CONTRACT"
    assert list(store.reader.audit()) == []


def test_before_a_run_an_estimate_is_recorded_if_its_quantities_are_known(store: SqlRunStore, planned: Planned) -> None:
    record_estimate_if_known(store.writer, of_size(planned, 1000), None, lambda: ESTIMATE, by="ann", now=NOW)
    assert len(list(store.reader.audit())) == 1


def test_a_run_of_unknown_size_begins_without_an_estimate(store: SqlRunStore, planned: Planned) -> None:
    def never() -> Estimate | None:
        raise AssertionError("an estimate was computed")

    record_estimate_if_known(store.writer, of_size(planned, None), None, never, by="ann", now=NOW)
    assert list(store.reader.audit()) == []
