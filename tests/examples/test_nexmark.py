"""The auction house: every command of its README, and its tables as plain Python computes them from the topic."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from anabranch.app.project_context import open_project
from anabranch.plan.offsets.completeness import Proof
from anabranch.validate.report import Verdict
from tests.examples import auctions
from tests.examples.auctions import FOUR, HALF, HOUR, TEN, Bid, Rows
from tests.examples.reader import Reader, commands
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.project import ALONE
from tests.fixtures.spark import SparkForTests
from tests.scenarios.backfills import edit

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(900)]
EXAMPLE = Path(__file__).parents[2] / "examples" / "nexmark"
ONE, NOON = FOUR - timedelta(hours=3), FOUR - timedelta(hours=4)

Compute = Callable[..., Rows]
QUERIES: dict[str, tuple[Compute, int, datetime]] = {
    "currency": (auctions.currency, 5, ONE),
    "selection": (auctions.selection, 4, ONE),
    "hot-items": (auctions.hot_items, 0, NOON),
    "highest-bid": (auctions.highest_bid, 0, ONE),
}
"""By pipeline: what computes it, which of its columns is the time, and where the replaced hours begin."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaForTests, spark: SparkForTests) -> Iterator[Reader]:
    """The README was read to its end."""
    folder = tmp_path_factory.mktemp("examples") / "nexmark"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".anabranch", "__pycache__", "*.bak"))
    edit(folder / "anabranch.yaml", {"bootstrap: embedded": f"bootstrap: embedded\n      {ALONE}"})
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ANABRANCH_KAFKA__BOOTSTRAP", kafka.bootstrap)
        environment.setenv("ANABRANCH_CATALOG__NAME", f"nexmark_{uuid4().hex[:12]}")
        project_context = open_project(folder)
        for key, value in project_context.catalog.spark_options().items():
            spark.session.conf.set(key, value)
        reader = Reader(folder, kafka, spark, project_context.store())
        try:
            for command in commands(EXAMPLE / "README.md"):
                reader.type(command)
            yield reader
        finally:
            reader.leave()


@pytest.fixture(scope="module")
def bids(house: Reader) -> list[Bid]:
    return auctions.bids_of(house.kafka.read_all("nexmark.bids"))


@pytest.mark.parametrize("pipeline", QUERIES)
def test_the_contract_repairs_its_hours_and_nothing_else(house: Reader, bids: list[Bid], pipeline: str) -> None:
    compute, time, first = QUERIES[pipeline]
    repair, former, right = house.repairs[pipeline], compute(bids, wrong=True), compute(bids, wrong=False)
    assert former != right
    assert repair.former == former
    assert repair.report is not None
    assert repair.report.verdict is Verdict.ACCEPTED
    assert set(repair.plan.source.proof.values()) == {Proof.MAP}, "the slack is shorter than some bids are late"
    assert repair.rows == auctions.repaired(former, right, time, first, FOUR)


@pytest.mark.parametrize(("pipeline", "size", "slide"), [("hot-items", HOUR, HALF), ("highest-bid", TEN, TEN)])
def test_bids_that_live_dropped_as_late_are_told(
    house: Reader, bids: list[Bid], pipeline: str, size: timedelta, slide: timedelta
) -> None:
    missed = auctions.late(bids, size, slide, QUERIES[pipeline][2], FOUR)
    assert missed > 0
    report = house.repairs[pipeline].report
    assert report is not None
    [told] = [result for result in report.results if result.check == "late events"]
    assert told.found.startswith(f"{missed} events")


def test_the_hottest_item_is_picked_from_the_counts(house: Reader) -> None:
    catalog = open_project(house.folder).catalog.name
    query = (house.folder / "queries" / "hottest.sql").read_text().replace("nexmark.", f"{catalog}.nexmark.")
    found = Counter(
        (row.window_start.astimezone(FOUR.tzinfo), row.window_end.astimezone(FOUR.tzinfo), row.auction, row.bids)
        for row in house.spark.session.sql(query).collect()
    )
    assert found == auctions.hottest(house.repairs["hot-items"].rows)
