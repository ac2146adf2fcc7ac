"""The rollback horizon on real Iceberg commits: what expiry leaves, and what closing removes and when."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.integration.promote.shop import STAGED, Shop, former, open_shop

from anabranch.adapters.iceberg.refs import head_of
from anabranch.close.closure import Closure
from anabranch.close.horizon import RollbackGuaranteedError
from anabranch.close.isolation import certify
from anabranch.close.live_group import LiveGroup
from anabranch.runs.journal import Outcome
from anabranch.runs.states import State

FORMER = former(0, 1, 2, 3, 4, 5)
WEEK = timedelta(days=7)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = open_shop(tmp_path / ".anabranch")
    shop.submit_validated()
    yield shop
    shop.store.close()


def close(shop: Shop, now: datetime, forfeit: str | None = None) -> Any:
    kept: list[Mapping[str, object]] = []
    with shop.lease() as lease:
        record = Closure(
            lease,
            shop.plan,
            shop.target,
            certify=lambda: certify({}, {}, live_group="orders", live=LiveGroup("orders"), main_untouched=True),
            cost=dict,
            keep=kept.append,
            horizon=WEEK,
            now=now,
            look_at_capacity=dict,
            forfeit=forfeit,
        )()
    assert kept[-1] == record
    return record


def promoted_at(shop: Shop) -> datetime:
    done = [e for e in shop.store.reader.journal("run1") if e.step == "promote" and e.outcome is Outcome.SUCCEEDED]
    assert done[-1].settled_at is not None
    return done[-1].settled_at


def refs(shop: Shop) -> set[str]:
    return set(shop.catalog_table().metadata.refs)


def expire_everything(shop: Shop) -> None:
    """Every snapshot that expiry may take, however young."""
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    shop.catalog_table().maintenance.expire_snapshots().older_than(tomorrow).commit()


def test_expiry_within_the_horizon_leaves_the_former_rows_and_rollback_restores_them(shop: Shop) -> None:
    before = shop.target.head()
    shop.promote()
    since = Counter([shop.live(2), shop.live(5)])
    snapshots = len(shop.catalog_table().metadata.snapshots)
    expire_everything(shop)
    left = {head_of(each.snapshot_id) for each in shop.catalog_table().metadata.snapshots}
    assert len(left) < snapshots, "the expiry has taken something"
    assert before in left
    shop.roll_back()
    assert shop.rows() == FORMER + since


def test_the_tags_are_without_an_age_because_iceberg_counts_it_from_the_snapshot_and_not_from_the_tag(
    shop: Shop,
) -> None:
    shop.promote()
    tags = [shop.catalog_table().metadata.refs[name] for name in ("ab_run1_before", "ab_run1_after")]
    assert [tag.max_ref_age_ms for tag in tags] == [2**63 - 1, 2**63 - 1]


def test_closing_within_the_horizon_is_refused_and_leaves_run_and_tags(shop: Shop) -> None:
    shop.promote()
    there = refs(shop)
    with pytest.raises(RollbackGuaranteedError):
        close(shop, promoted_at(shop) + WEEK - timedelta(seconds=1))
    assert shop.store.reader.run("run1").state is State.PROMOTED
    assert not [entry for entry in shop.store.reader.journal("run1") if entry.step == "close"]
    assert there >= {"ab_run1_before", "ab_run1_after"}
    assert {name.rpartition("_e")[0] or name for name in refs(shop)} == {
        name.rpartition("_e")[0] or name for name in there
    }
    shop.roll_back()
    assert shop.rows() == FORMER


def test_a_forfeited_rollback_is_in_the_closure_record_and_in_the_audit_chain(shop: Shop) -> None:
    shop.promote()
    record = close(shop, promoted_at(shop), "readers agree")
    assert record["rollback"]["horizon"] == "7d"
    assert record["rollback"]["forfeited"]["by"] == "ann"
    assert record["rollback"]["forfeited"]["reason"] == "readers agree"
    [audited] = shop.store.reader.audit(run_id="run1", action="run.close")
    assert json.loads(audited.details)["rollback"] == record["rollback"]
    assert shop.store.reader.verify_audit().intact
    assert refs(shop) == {"main"}
    assert shop.rows()[next(iter(STAGED))] == 1


def test_after_the_horizon_closing_needs_no_reason(shop: Shop) -> None:
    shop.promote()
    record = close(shop, promoted_at(shop) + WEEK)
    assert (record["verdict"], record["rollback"]["forfeited"]) == ("promoted", None)
    assert refs(shop) == {"main"}


def test_it_begins_again_with_a_second_promotion(shop: Shop) -> None:
    shop.promote()
    first = promoted_at(shop)
    shop.roll_back()
    shop.promote()
    assert promoted_at(shop) > first
    with pytest.raises(RollbackGuaranteedError):
        close(shop, first + WEEK)
    close(shop, promoted_at(shop) + WEEK)


def test_what_was_rolled_back_is_closed_at_any_time(shop: Shop) -> None:
    shop.promote()
    shop.roll_back()
    record = close(shop, promoted_at(shop))
    assert (record["verdict"], record["rollback"]) == ("rolled_back", None)
