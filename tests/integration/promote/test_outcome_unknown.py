"""A commit on production whose answer is lost, over a real connection to a catalog on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import URL
from tests.fixtures.relay import Cut, Relay, relay
from tests.integration.promote.shop import STAGED, Shop, former

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.catalog import jdbc
from anabranch.adapters.sql.store import open_store
from anabranch.promote.outcome import CommitUnrecordedError, OutcomeUnknownError
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

BEFORE = former(0, 1, 2, 3, 4, 5)
AFTER = former(0, 1, 4, 5) + STAGED


@dataclass(frozen=True)
class Scene:
    shop: Shop
    catalog: Relay
    control: Relay
    """The way to the control database."""

    def act(self, make: Callable[[RunLease], Callable[[], Head]], cut: Cut) -> Head:
        """Promote or roll back, with the cut at its own commit and not at one that prepares staging."""
        with self.shop.lease() as lease:
            act = make(lease)
            self.catalog.cut = cut
            return act()

    def state(self) -> State:
        return self.shop.store.reader.run("run1").state

    def commits(self) -> int:
        snapshots = self.shop.target.load().snapshots()
        return sum(
            each.summary is not None and props.COMMIT in each.summary.additional_properties for each in snapshots
        )


@pytest.fixture
def scene(tmp_path: Path, postgres_database: URL) -> Iterator[Scene]:
    socket = f"{postgres_database.query['host']}/.s.PGSQL.5432"
    user, name = str(postgres_database.username), postgres_database.database
    with relay(socket) as catalog, relay(socket) as control:
        lake = jdbc(
            "lake", f"jdbc:postgresql://127.0.0.1:{catalog.port}/{name}", (tmp_path / "lake").as_uri(), user, None, {}
        )
        store = open_store(f"postgresql://{user}@127.0.0.1:{control.port}/{name}")
        shop = Shop(tmp_path, lake, store)
        shop.submit_validated()
        yield Scene(shop, catalog, control)
        shop.close()


@pytest.mark.parametrize("cut", Cut)
def test_a_promotion_whose_answer_is_lost_says_so_and_the_same_command_finds_out(scene: Scene, cut: Cut) -> None:
    with pytest.raises(OutcomeUnknownError) as lost:
        scene.act(scene.shop.promotion, cut)
    error = lost.value
    assert error.code == "promote.outcome-unknown"
    assert "run1-promote-1 on shop.orders is unknown" in error.what
    assert error.state.startswith("Unknown: ")
    assert error.remedy == "anabranch promote run1"
    assert error.cause == "OperationalError", "named, not quoted"
    assert scene.state() is State.PROMOTING

    scene.catalog.return_()
    assert scene.shop.rows() == (AFTER if cut is Cut.AFTER_COMMIT else BEFORE)
    scene.shop.promote()
    assert (scene.shop.rows(), scene.state(), scene.commits()) == (AFTER, State.PROMOTED, 1)


@pytest.mark.parametrize("cut", Cut)
def test_a_rollback_whose_answer_is_lost_says_so_and_the_same_command_finds_out(scene: Scene, cut: Cut) -> None:
    scene.shop.promote()
    with pytest.raises(OutcomeUnknownError) as lost:
        scene.act(scene.shop.rollback, cut)
    assert lost.value.remedy == "anabranch rollback run1"
    scene.catalog.return_()
    scene.shop.roll_back()
    assert (scene.shop.rows(), scene.state(), scene.commits()) == (BEFORE, State.ROLLED_BACK, 2)


def test_a_lost_answer_is_no_error_where_the_catalog_can_be_asked_again(scene: Scene) -> None:
    scene.catalog.stays_away = False
    scene.act(scene.shop.promotion, Cut.AFTER_COMMIT)
    assert (scene.shop.rows(), scene.state(), scene.commits()) == (AFTER, State.PROMOTED, 1)


def test_a_commit_that_the_control_database_did_not_record_is_reported_as_committed(scene: Scene) -> None:
    scene.catalog.stays_away = False
    scene.catalog.on_cut = scene.control.go_away
    with pytest.raises(CommitUnrecordedError) as lost:
        scene.act(scene.shop.promotion, Cut.AFTER_COMMIT)
    assert scene.shop.rows() == AFTER
    assert lost.value.state.startswith("shop.orders has the promote")
    assert "StoreUnreachableError" in str(lost.value.cause)

    scene.control.return_()
    scene.shop.promote()
    assert (scene.shop.rows(), scene.state(), scene.commits()) == (AFTER, State.PROMOTED, 1)
