"""Live goes on writing into the range after the base: caught up or kept, never lost and never twice."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from anabranch.runs.states import State
from anabranch.validate.accepted import NotValidatedError, ValidationRejectedError
from anabranch.validate.report import Verdict
from tests.scenarios.backfills import JUNE, Onlooker
from tests.scenarios.shop import CONTRACT, Shop, order


def late(number: int) -> list[dict[str, Any]]:
    """Orders that come late: two of the range, two of another hour, in both partitions, stamped when they came."""
    came = JUNE + timedelta(hours=8, minutes=number % 60)
    moments = [JUNE + timedelta(hours=hour, minutes=30 + i) for i, hour in enumerate((2, 3, 5, 1))]
    return [order(number + i, at, i % 2, came) for i, at in enumerate(moments)]


def files(shop: Shop) -> set[str]:
    return set(shop.table().inspect.files()["file_path"].to_pylist())


def test_live_commits_by_other_code_are_caught_up_and_those_by_the_same_code_stay(shop: Shop) -> None:
    run = shop.plan(slices=2)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.produce(late(9000))
    shop.live()
    before = files(shop)
    shop.produce(late(9100))
    shop.live_fixed()
    kept = files(shop) - before
    former = shop.former()
    shop.require(former)

    shop.promote(run, watch := Onlooker())
    shop.require(shop.corrected())
    [caught] = watch.seen
    assert caught.startswith("live-")
    assert kept <= files(shop), "the same code's files stay as they are"
    assert shop.rows() != former
    ledger = shop.staged_ledger(run)
    assert ledger["offsets"] == sum(slice_.width for slice_ in run.plan.slices) + len(late(9000))

    shop.roll_back(run)
    shop.require(former)
    shop.produce(late(9200))
    shop.live()
    shop.promote(shop.again(run.run_id), watch := Onlooker())
    assert len(watch.seen) == 1, "what was caught up before is in staging still"
    shop.require(shop.corrected())


def test_a_rejection_after_catch_up_stops_the_promotion_and_names_the_check(shop: Shop) -> None:
    spec: dict[str, Any] = {**CONTRACT["spec"]}  # type: ignore[dict-item]
    queries = {"no-late-order": {"sql": "SELECT order_id FROM staged WHERE order_id = 'o9000'"}}
    spec["validation"] = {**spec["validation"], "queries": queries}
    shop.contract.write_text(json.dumps({**CONTRACT, "spec": spec}))
    run = shop.plan(slices=1)
    with pytest.raises(NotValidatedError, match="staging was never validated"):
        shop.promote(run)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.produce(late(9000))
    shop.live()
    before = shop.rows()

    with pytest.raises(ValidationRejectedError, match="no-late-order"):
        shop.promote(run)
    assert run.run.state is State.REJECTED
    with pytest.raises(NotValidatedError, match="the last one rejected snapshot"):
        shop.promote(shop.again(run.run_id))
    assert shop.rows() == before


@pytest.mark.long
def test_live_that_commits_again_while_it_is_caught_up_with_is_caught_up_too(shop: Shop) -> None:
    run = shop.plan(slices=1)
    shop.apply(run)
    shop.produce(late(9000))
    shop.live()

    def again(slice_id: str) -> None:
        if len(watch.seen) == 1:
            shop.produce(late(9100))
            shop.live()
            shop.produce(late(9200))
            shop.live_fixed()

    watch = Onlooker(again)
    shop.promote(run, watch)
    assert len(watch.seen) == 2
    shop.require(shop.corrected())
    shop.roll_back(run)
    shop.require(shop.former())
    shop.promote(run, watch := Onlooker())
    assert watch.seen == []
    shop.require(shop.corrected())
