"""A rollback of a whole table goes by live's commits since the promotion: without them it is refused."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.refs import before_tag
from anabranch.adapters.iceberg.table_swap import RollbackHistoryGoneError, TableSwapTarget
from anabranch.plan.target_range import WholeTable
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head

ROWS = pa.table({"n": pa.array([1, 2, 3], pa.int64())})


@pytest.fixture
def target(bank: Catalog) -> TableSwapTarget:
    """Promoted at its second snapshot, as far as refs say."""
    table = bank.create_table("bank.accounts", ROWS.schema)
    for name in ("ab_r1_before", "ab_r1_after"):
        table.append(ROWS)
        head = table.current_snapshot()
        assert head is not None
        table.manage_snapshots().create_tag(head.snapshot_id, name).commit()
    return TableSwapTarget(bank, "bank.accounts")


STAGING = Staging("r1", 1, "ab_r1_e1", Head("0"), WholeTable(None, None))


def live(target: TableSwapTarget, start: int) -> None:
    said = {props.AUTHOR: "live", props.OFFSETS: f'{{"0":[{start},{start + 3}]}}'}
    target.load().append(ROWS, snapshot_properties=said)


def expire(target: TableSwapTarget) -> None:
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    target.load().maintenance.expire_snapshots().older_than(tomorrow).commit()


def test_with_nothing_since_the_promotion_expiry_takes_nothing_that_a_rollback_needs(target: TableSwapTarget) -> None:
    expire(target)
    assert target.later(STAGING).live == ()
    assert target.head(before_tag("r1")) is not None


def test_lives_commits_since_the_promotion_are_known_by_mains_history(target: TableSwapTarget) -> None:
    live(target, 0)
    live(target, 3)
    assert [dict(each.offsets) for each in target.later(STAGING).live] == [{0: (0, 3)}, {0: (3, 6)}]


def test_once_they_have_expired_the_rollback_is_refused_and_names_the_tag(target: TableSwapTarget) -> None:
    live(target, 0)
    live(target, 3)
    expire(target)
    with pytest.raises(RollbackHistoryGoneError) as refused:
        target.later(STAGING)
    assert "ab_r1_before" in refused.value.state
    assert "rollback.horizon" in refused.value.remedy
