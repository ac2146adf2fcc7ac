"""A table that a plain Iceberg writer fills, which records no offsets: no record is counted twice beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from anabranch.errors import AnabranchError
from anabranch.runs.states import Event, State
from anabranch.validate.report import Verdict
from tests.scenarios.backfills import JUNE, Onlooker
from tests.scenarios.checker import BUGGY, FIXED, Offsets, Rows, between, recomputed
from tests.scenarios.shop import CONTRACT, Shop, hours, refusal

START, END = JUNE + timedelta(hours=2), JUNE + timedelta(hours=6)


def contract(shop: Shop, **spec: object) -> None:
    """Of the last four hours, of which the writer has not read the end."""
    span = {"eventTime": {"from": START.isoformat(), "to": END.isoformat()}}
    shop.contract.write_text(json.dumps({**CONTRACT, "spec": {**CONTRACT["spec"], "range": span, **spec}}))  # type: ignore[dict-item]


def written(shop: Shop, share: float) -> tuple[Offsets, Rows]:
    offsets = {partition: (0, round(end * share)) for partition, end in shop.ends().items()}
    return offsets, recomputed(shop.records(), BUGGY, offsets)


@pytest.fixture
def shop(new_shop: Callable[..., Shop]) -> Shop:
    """Six hours of orders; a writer that is not Anabranch's has read nine tenths of them and appended their rows."""
    shop = new_shop()
    shop.produce(hours())
    shop.write(written(shop, 0.9)[1], {})
    return shop


@pytest.mark.long
def test_its_unread_records_are_refused_until_the_contract_says_that_it_is_stopped(shop: Shop) -> None:
    contract(shop)
    with pytest.raises(AnabranchError) as refused:
        shop.plan()
    assert refused.value.code == "plan.live-position-unknown"
    assert "`live: none`" in refused.value.remedy
    contract(shop, live="none")
    run = shop.plan(slices=2)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.compact()  # other files, the same rows: not a writer
    shop.promote(run)
    whole = {partition: (0, end) for partition, end in shop.ends().items()}
    before = written(shop, 0.9)[1]
    expected = before - between(before, START, END) + between(recomputed(shop.records(), FIXED, whole), START, END)
    shop.require(expected)
    orders = Counter(row[0] for row in shop.rows().elements())
    assert set(orders.values()) == {1}
    assert len(orders) == len(shop.records())
    shop.roll_back(run)
    shop.require(before)


def test_its_commit_after_the_plan_stops_the_promotion_and_each_record_is_there_once(shop: Shop) -> None:
    contract(shop, live="none")
    run = shop.plan(slices=2)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    (_, before), (_, whole) = written(shop, 0.9), written(shop, 1.0)
    shop.write(whole - before, {})
    error = refusal(shop.promote, shop.again(run.run_id), Onlooker())
    assert error.code == "promote.other-writer"
    head = shop.table().current_snapshot()
    assert head is not None
    assert str(head.snapshot_id) in error.what
    assert "Production unchanged" in error.state
    assert "stop the writer" in error.remedy
    shop.require(whole)
    assert run.run.state is not State.PROMOTED
    with run.lease() as lease:
        lease.transition(Event.CANCEL)
    # A plan from the present state holds what the writer has committed since.
    again = shop.plan(slices=1)
    assert again.run_id != run.run_id
    assert shop.apply(again).verdict is Verdict.ACCEPTED
    # Also a commit outside the range: what the writer reads next may be inside.
    outside = between(whole, JUNE, JUNE + timedelta(hours=1))
    shop.write(outside, {})
    assert refusal(shop.promote, again, Onlooker()).code == "promote.other-writer"
    shop.require(whole + outside)
