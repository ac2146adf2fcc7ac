"""Live goes on writing into the range after the base: caught up or kept, never lost and never twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from anabranch.validate.report import Verdict
from tests.scenarios.backfills import JUNE, Onlooker
from tests.scenarios.shop import Shop, order


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
    assert ledger["offsets"] == sum(piece.width for piece in run.plan.slices) + len(late(9000))

    shop.roll_back(run)
    shop.require(former)
    shop.produce(late(9200))
    shop.live()
    shop.promote(shop.again(run.run_id), watch := Onlooker())
    assert len(watch.seen) == 1, "what was caught up before is in staging still"
    shop.require(shop.corrected())


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
