"""Promotion and rollback on Iceberg beside live: in cycles and under fire. See also tests/conformance/target."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.fixtures.properties import examples
from tests.integration.promote.shop import STAGED, Rows, Shop, former, open_shop

from anabranch.promote.promotion import StagingChangedError
from anabranch.replay.staging import take_staging
from anabranch.runs.states import State

OUTSIDE = former(0, 1, 4, 5)
INSIDE = former(2, 3)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = open_shop(tmp_path / ".anabranch")
    shop.submit_validated()
    yield shop
    shop.store.close()


def test_before_promotion_main_is_untouched_and_staging_shows_the_table_as_it_would_be(shop: Shop) -> None:
    assert shop.rows() == OUTSIDE + INSIDE
    assert shop.rows("ab_run1_e1") == OUTSIDE + STAGED


def test_promotion_replaces_the_range_and_nothing_else_and_writes_no_data_file(shop: Shop) -> None:
    files = set((shop.state / "warehouse").rglob("*.parquet"))
    shop.promote()
    assert shop.rows() == OUTSIDE + STAGED
    assert set((shop.state / "warehouse").rglob("*.parquet")) == files
    assert shop.store.reader.run("run1").state is State.PROMOTED


def test_a_foreign_commit_outside_the_range_passes(shop: Shop) -> None:
    shop.write(5, [7777], "stranger")
    shop.promote()
    assert shop.rows() == OUTSIDE + STAGED + Counter([(7777, 5, "stranger")])


def test_staging_that_changed_since_validation_is_refused(shop: Shop) -> None:
    with shop.lease() as lease:
        promotion = shop.promotion(lease)
        shop.write(2, [1], "later", branch=promotion.staging.name)
        changed = take_staging(lease, shop.plan, shop.target)
        with pytest.raises(StagingChangedError):
            type(promotion)(lease, shop.target, promotion.approved, changed, frozenset())()


@pytest.mark.parametrize("table", range(2))
def test_ten_cycles_of_promotion_live_commits_and_rollback(shop: Shop, table: int) -> None:
    """On each of two tables: the cost of a commit grows with a table's snapshots, of which a cycle makes five."""
    live: Rows = Counter()
    for _ in range(10):
        shop.promote()
        live += Counter([shop.live(2), shop.live(4)])
        assert shop.rows() == OUTSIDE + STAGED + live
        shop.roll_back()
        live += Counter([shop.live(3)])
        assert shop.rows() == OUTSIDE + INSIDE + live


@pytest.mark.parametrize(
    "table",
    [0, 1, 2, *(pytest.param(table, marks=pytest.mark.long) for table in range(3, examples(usual=10, soak=67)))],
)
def test_promotions_under_fire_lose_nothing_and_no_reader_sees_a_mix(shop: Shop, table: int) -> None:
    """Three on each of several tables: a commit costs as much as the table has snapshots, and thirty make many."""
    written: list[tuple[int, int, str]] = []
    seen: list[Rows] = []

    def read(done: threading.Event) -> None:
        while not done.wait(0.5):
            seen.append(Counter({row: n for row, n in shop.rows().items() if row[2] != "live"}))

    with reading(read), ThreadPoolExecutor(3) as writers:
        for _ in range(3):
            for act, hours in ((shop.promote, (2, 3, 5)), (shop.roll_back, (3, 2, 0))):
                fire = [writers.submit(shop.live, hour) for hour in hours]
                act()
                written += [each.result() for each in fire]
    assert shop.rows() == OUTSIDE + INSIDE + Counter(written)
    assert seen
    assert all(rows in (OUTSIDE + INSIDE, OUTSIDE + STAGED) for rows in seen)


@contextmanager
def reading(read: Callable[[threading.Event], None]) -> Iterator[None]:
    """Somebody reads all the while."""
    done = threading.Event()
    with ThreadPoolExecutor(1) as readers:
        reader = readers.submit(read, done)
        try:
            yield
        finally:
            done.set()
        reader.result()
