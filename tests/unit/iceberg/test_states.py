"""Which snapshots a replay may start from, on a real table: by its history, by promotions in it, and by tags."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.live import TOPIC
from anabranch.adapters.iceberg.refs import head_of
from anabranch.adapters.iceberg.states import TAG, keep_state, newest_kept, states, tags_after
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.promote.history import Author

NAME = "shop.accounts"
MONTH = timedelta(days=30)


class Accounts:
    """A table with commits of live and of others, each with one row and the offsets up to its number."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        catalog.create_table(NAME, Schema(NestedField(1, "id", LongType())))

    def table(self) -> Table:
        return self.catalog.load_table(NAME)

    def commit(self, author: Author | None, **properties: str) -> int:
        said = {} if author is None else {props.AUTHOR: author.value}
        self.table().append(pa.table({"id": [1]}), snapshot_properties={**said, **properties})
        return self.table().metadata.refs["main"].snapshot_id

    def live(self, end: int, pipeline: str = "accounts") -> int:
        offsets = props.write_offsets({0: (end - 1, end)})
        said = {props.PIPELINE: pipeline, props.OFFSETS: offsets, TOPIC: "u1", props.EVENT_TIME: f"2025-06-{end:02}"}
        return self.commit(Author.LIVE, **said)

    def promotion(self, run: str, root: int) -> int:
        return self.commit(Author.PROMOTION, **{props.RUN: run, props.ROOT: str(self.sequence(root))})

    def rollback(self, run: str) -> int:
        return self.commit(Author.ROLLBACK, **{props.RUN: run})

    def sequence(self, snapshot: int) -> int:
        found = self.table().snapshot_by_id(snapshot)
        assert found is not None
        return found.sequence_number or 0

    def states(self) -> list[str]:
        return [each.snapshot for each in states(self.table(), "accounts")]

    def expire(self) -> None:
        tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
        self.table().maintenance.expire_snapshots().older_than(tomorrow).commit()


@pytest.fixture
def accounts(shop: Catalog) -> Accounts:
    return Accounts(shop)


def test_every_commit_of_the_pipelines_live_is_a_state_newest_first(accounts: Accounts) -> None:
    first = accounts.live(1)
    accounts.commit(None)
    accounts.live(2, pipeline="other")
    second = accounts.live(3)
    assert accounts.states() == [head_of(second), head_of(first)]
    [newest, _] = states(accounts.table(), "accounts")
    assert (newest.position, newest.topic, newest.event_time, newest.tag) == ({0: 3}, "u1", "2025-06-03", None)


def test_states_with_rows_that_a_promotion_corrected_are_left_out(accounts: Accounts) -> None:
    good = accounts.live(1)
    wrong = accounts.live(2)
    accounts.promotion("r1", root=good)
    after = accounts.live(3)
    assert accounts.states() == [head_of(after), head_of(good)]
    assert head_of(wrong) not in accounts.states()


@pytest.mark.parametrize("earliest_last", [False, True])
def test_the_earliest_root_of_several_promotions_counts(accounts: Accounts, earliest_last: bool) -> None:
    first = accounts.live(1)
    second = accounts.live(2)
    accounts.live(3)
    for number, root in enumerate((second, first) if earliest_last else (first, second)):
        accounts.promotion(f"r{number}", root=root)
    assert accounts.states() == [head_of(first)]


def test_a_promotion_that_was_rolled_back_corrects_nothing_and_states_made_onto_it_are_left_out(
    accounts: Accounts,
) -> None:
    first = accounts.live(1)
    second = accounts.live(2)
    accounts.promotion("r1", root=first)
    onto = accounts.live(3)
    accounts.rollback("r1")
    last = accounts.live(4)
    assert accounts.states() == [head_of(last), head_of(second), head_of(first)]
    assert head_of(onto) not in accounts.states()


def test_a_tagged_state_outlives_the_expiry_of_the_others(accounts: Accounts) -> None:
    target = IcebergTarget(accounts.catalog, NAME)
    tagged = accounts.live(1)
    assert keep_state(target, tagged, MONTH)
    accounts.live(2)
    last = accounts.live(3)
    accounts.expire()
    assert accounts.states() == [head_of(last), head_of(tagged)]
    kept = states(accounts.table(), "accounts")[1]
    assert kept.tag is not None
    assert kept.tag.startswith(TAG)
    assert newest_kept(accounts.table()) == kept.at


def test_only_mains_head_is_tagged(accounts: Accounts) -> None:
    target = IcebergTarget(accounts.catalog, NAME)
    former = accounts.live(1)
    accounts.live(2)
    assert not keep_state(target, former, MONTH)
    assert newest_kept(accounts.table()) is None


def test_a_commit_in_between_leaves_no_tag(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    target = IcebergTarget(accounts.catalog, NAME)
    head, load = accounts.live(1), target.load

    def load_then_commit() -> Table:
        table = load()
        accounts.live(2)
        return table

    monkeypatch.setattr(target, "load", load_then_commit)
    assert not keep_state(target, head, MONTH)
    assert newest_kept(accounts.table()) is None


def test_tags_after_a_state_are_those_of_later_ones(accounts: Accounts) -> None:
    target = IcebergTarget(accounts.catalog, NAME)
    first = accounts.live(1)
    keep_state(target, first, MONTH)
    second = accounts.live(2)
    keep_state(target, second, MONTH)
    table = accounts.table()
    names = {ref.snapshot_id: name for name, ref in table.metadata.refs.items() if name.startswith(TAG)}
    assert tags_after(table, accounts.sequence(first)) == [names[second]]
    assert sorted(tags_after(table, 0)) == sorted(names.values())
    assert tags_after(table, accounts.sequence(second)) == []
