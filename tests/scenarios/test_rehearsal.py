"""A rehearsal beside production: it measures, keeps what it found, and leaves nothing else behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from anabranch.app.cost import keep_estimate
from anabranch.app.forecast import forecast_backfill
from anabranch.app.gates import gate_service
from anabranch.app.live_watch import live_watch
from anabranch.app.planning import plan_backfill
from anabranch.app.rehearsal import build_rehearsal
from anabranch.contract.load import load_pipelines
from anabranch.errors import AnabranchError
from anabranch.gates.evidence import newest_evidence
from anabranch.gates.impact import design
from anabranch.gates.impact.measured import read_impact
from anabranch.gates.impact.stored import newest_impact
from anabranch.plan.forecast.rehearsed import STAGES, read_rehearsed
from anabranch.readiness.live_samples import worst_lag
from anabranch.readiness.rehearse import Rehearsal, RehearsalFailedError
from tests.scenarios.backfills import NOW
from tests.scenarios.shop import Shop, hours

LIMIT = 16_000
"""Bytes per second: far less than records of ten kilobytes are read at."""
pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.spark]


def rehearsal_of(shop: Shop) -> Rehearsal:
    planned = plan_backfill(shop.project_context, shop.project_context.folder / "contracts" / "fix.yaml", now=NOW)
    request = planned.request
    return build_rehearsal(
        shop.project_context, shop.store, planned.plan, request.backfill, request.pipeline, "ann", shop.spark.session
    )


def test_a_rehearsal_measures_every_part_and_leaves_production_as_it_was(
    new_shop: Callable[..., Shop], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("BLOCK_SECONDS", 4.0), ("SETTLE_SECONDS", 1.0)):
        monkeypatch.setattr(design, name, seconds)
    shop = new_shop()
    bad = {"value": b"not json", "partition": 0, "timestamp": hours()[50]["timestamp"]}
    shop.produce([*hours()[:50], bad, *hours()[50:]])
    shop.live()
    before, refs, head = shop.rows(), dict(shop.table().metadata.refs), shop.table().current_snapshot()
    rehearsal = replace(rehearsal_of(shop), pairs=1)
    now = datetime.now(timezone.utc)
    found, kept = rehearsal(now)
    assert dict(shop.table().metadata.refs) == refs, "no branch is left, and main has not moved"
    assert shop.table().current_snapshot() == head
    assert shop.rows() == before
    assert shop.quarantined() == [], "a bad record is counted, and not set aside for nothing"
    assert shop.store.reader.runs() == []
    assert found.bottleneck in STAGES
    assert set(found.stages) == set(STAGES)
    assert found.stages[found.bottleneck] == max(found.stages.values())
    assert 0 < found.records <= rehearsal.plan.source.ranges[0][0][1] * 2
    assert found.bytes > found.records
    for figure in (found.records_per_second, found.commit_seconds, found.promote_seconds, found.rollback_seconds):
        assert figure > 0
    assert (found.live_lag_with, found.live_lag_without) == (0, 0), "live has written all, by its commits"
    newest = newest_evidence(shop.store.reader, "rehearsal", f"contract/{rehearsal.plan.contract}")
    assert newest == kept
    assert newest is not None
    assert read_rehearsed(newest.found) == found
    measures_its_effect_on_live(shop, rehearsal)
    tells_from_it(shop, now)


def measures_its_effect_on_live(shop: Shop, rehearsal: Rehearsal) -> None:
    """In one pair, which both read and did not; nothing follows from one."""
    evidence = newest_impact(shop.store.reader, rehearsal.plan, rehearsal.contract)
    assert evidence is not None
    impact = read_impact(evidence.found)
    [pair] = impact.pairs
    assert pair.flaw is None
    assert pair.with_replay.bytes > 0 == pair.without.bytes
    assert impact.lag is not None
    assert (impact.lag.mean, impact.lag.low) == (0, None)


def tells_from_it(shop: Shop, now: datetime) -> None:
    """Window and cost rest on it from now on; without one there is no window."""
    planned = plan_backfill(shop.project_context, shop.project_context.folder / "contracts" / "fix.yaml", now=now)
    prospect = forecast_backfill(shop.project_context, planned, now)
    assert prospect.window is not None
    assert prospect.window.replay.total_seconds() > 0
    estimate, evidence = keep_estimate(shop.project_context, shop.store, planned, by="ann", now=now)
    assert estimate.rests_on == "a rehearsal"
    assert evidence.found["amount"] == round(estimate.bill.amount, 6) > 0


def test_a_rehearsal_is_held_to_the_contracts_rate_and_counts_for_that_contract_alone(
    new_shop: Callable[..., Shop],
) -> None:
    shop = new_shop()
    wide = {"pad": "x" * 10_000}  # no column of the schema
    shop.produce([{**each, "value": json.dumps({**json.loads(each["value"]), **wide}).encode()} for each in hours()])
    shop.live()
    file = shop.project_context.folder / "contracts" / "fix.yaml"
    contract = json.loads(file.read_text())

    def at(rate: int | None) -> Rehearsal:
        spec = {**contract["spec"], **({} if rate is None else {"budget": {"bytesPerSecond": rate}})}
        file.write_text(json.dumps({**contract, "spec": spec}))
        return rehearsal_of(shop)

    def capacity(rehearsal: Rehearsal) -> str:
        given = (rehearsal.plan, rehearsal.contract, rehearsal.pipeline, "ann")
        card = gate_service(shop.project_context, shop.store, *given).score()
        return next(each.words for each in card.judgements if each.gate == "capacity")

    slow, now = at(LIMIT), datetime.now(timezone.utc)
    assert "was not rehearsed" in capacity(slow)
    found, _ = slow(now)
    assert found.bytes_per_second_limit == LIMIT
    assert found.bytes_per_second <= 1.1 * LIMIT, "over all bursts, by the clock"
    assert "was not rehearsed" not in capacity(slow)
    for other in (at(2 * LIMIT), at(None)):
        assert "was not rehearsed" in capacity(other), "that was another load"
    free, _ = at(None)(now)
    assert free.bytes_per_second_limit is None
    assert free.bytes_per_second > found.bytes_per_second
    assert "was not rehearsed" not in capacity(at(LIMIT)), "each contract has its own"


def test_a_slice_that_is_over_before_the_next_look_is_seen_too(shop: Shop) -> None:
    watch = live_watch(shop.project_context, load_pipelines(shop.project_context.loaded)["orders"].pipeline)
    with watch.watching(), watch.replaying():
        pass
    assert [sample.replaying for sample in watch.samples] == [False, True, False]
    assert worst_lag(watch.samples, replaying=True) == 0


def test_a_rehearsal_that_fails_leaves_nothing_and_says_why(shop: Shop) -> None:
    transform = shop.project_context.folder / "transforms" / "orders.py"
    transform.write_text("def transform(events):\n    raise ValueError('no such rate')\n")
    refs, rehearsal = dict(shop.table().metadata.refs), rehearsal_of(shop)
    with pytest.raises(RehearsalFailedError, match="no such rate") as failed:
        rehearsal(NOW)
    assert isinstance(failed.value.__cause__, AnabranchError)
    assert dict(shop.table().metadata.refs) == refs
    assert newest_evidence(shop.store.reader, "rehearsal", f"contract/{rehearsal.plan.contract}") is None
