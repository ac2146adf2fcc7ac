"""The table's own upkeep beside a run: data files rewritten and snapshots expired, before and after the promotion."""

from __future__ import annotations

import pytest

from anabranch.app.backfill import BackfillRun
from anabranch.errors import AnabranchError
from anabranch.runs.states import State
from tests.scenarios.backfills import Onlooker
from tests.scenarios.shop import Shop, refusal
from tests.scenarios.test_catch_up import files, late

pytestmark = pytest.mark.long


@pytest.fixture
def promoted(shop: Shop) -> BackfillRun:
    run = shop.plan(slices=1)
    shop.apply(run)
    shop.promote(run)
    return run


def live_twice(shop: Shop) -> None:
    """Live inside and outside the range, once by the corrected code and once by the other."""
    shop.produce(late(9000))
    shop.live_fixed()
    shop.produce(late(9100))
    shop.live()


def test_rollback_after_compaction_gives_back_the_former_rows_and_keeps_lives_and_promotion_follows_again(
    shop: Shop, promoted: BackfillRun
) -> None:
    live_twice(shop)
    before = files(shop)
    shop.compact()
    assert not before & files(shop), "every file was written anew"
    rows = shop.rows()

    shop.roll_back(promoted)
    shop.require(shop.former())
    assert shop.rows() != rows

    shop.promote(shop.again(promoted.run_id), watch := Onlooker())
    assert len(watch.seen) == 2, "both of live's commits are in compacted files, so both are replayed"
    shop.require(shop.corrected())
    shop.roll_back(promoted)
    shop.require(shop.former())


def test_rollback_after_compaction_and_expiry_of_every_snapshot_that_no_tag_holds(
    shop: Shop, promoted: BackfillRun
) -> None:
    live_twice(shop)
    shop.compact()
    shop.expire()
    assert len(shop.table().metadata.snapshots) < 8
    shop.roll_back(promoted)
    shop.require(shop.former())
    # Which of live's commits are in the range is no longer in the table's history, so nobody can join in again.
    error = refusal(shop.promote, shop.again(promoted.run_id), Onlooker())
    assert error.code in ("plan.base-gone", "target.history-gone")
    assert "plan again" in error.remedy
    shop.require(shop.former())
    assert promoted.run.state is State.ROLLED_BACK
    assert shop.close(promoted)["verdict"] == "rolled_back"


def test_a_table_compacted_between_the_base_and_the_promotion(shop: Shop) -> None:
    run = shop.plan(slices=1)
    shop.apply(run)
    live_twice(shop)
    shop.compact()
    shop.promote(run, watch := Onlooker())
    assert len(watch.seen) == 2
    shop.require(shop.corrected())
    shop.roll_back(run)
    shop.require(shop.former())


def test_expiry_in_the_middle_of_a_replay_takes_no_slice_away(shop: Shop) -> None:
    run = shop.plan(slices=3)

    def stop_after_one(slice_id: str) -> None:
        raise StopError("stop here", state="", hint="")

    assert isinstance(refusal(shop.apply, run, Onlooker(stop_after_one)), StopError)
    shop.expire()
    shop.apply(run, watch := Onlooker())
    assert watch.seen == [slice_.id for slice_ in run.plan.slices[1:]]
    shop.expire()
    shop.promote(run)
    shop.require(shop.corrected())


class StopError(AnabranchError):
    code = "test.stop"
