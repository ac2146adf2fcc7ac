"""A new table is partitioned as its pipeline says, or by what its topic has; one that exists is compared with that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from pyiceberg.table import Table
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.iceberg.partitioning import OtherPartitioningError, partitioning_of
from anabranch.adapters.spark.transform.load import load_transform
from anabranch.adapters.spark.transform.output_rows import OutputError
from anabranch.adapters.spark.write.target_table import ensure_target, spark_name
from anabranch.app.project_context import open_project
from anabranch.contract.load import load_pipelines
from anabranch.contract.partitioning import Density

pytestmark = pytest.mark.spark
FANOUT = "write.spark.fanout.enabled"
Make = Callable[..., tuple[str, ...]]


@pytest.fixture
def make(shop: Path, spark: SparkForTests) -> Iterator[Make]:
    """Ensures the orders' table for this `partitionBy` and returns how it is partitioned."""
    name = f"made.orders_{uuid4().hex[:8]}"
    file = shop / "pipelines" / "orders.yaml"
    original = file.read_text()

    def made(by: str | None, density: Density | None = None, kind: str = "stateless") -> tuple[str, ...]:
        said = f"table: {name}" + ("" if by is None else f"\n    partitionBy: {by}")
        file.write_text(original.replace("table: shop.orders", said).replace("class: stateless", f"class: {kind}"))
        pipeline = load_pipelines(open_project(shop, "dev").loaded)["orders"].pipeline
        ensure_target(spark.session, spark.catalog, pipeline, load_transform(shop, pipeline), lambda: density)
        return tuple(map(str, partitioning_of(spark.catalog.open().load_table(name))))

    yield made
    spark.session.sql(f"DROP TABLE IF EXISTS {spark_name(spark.catalog, name)}")


def orders_table(spark: SparkForTests) -> Table:
    """The one of the test at hand."""
    tables = spark.catalog.open()
    [name] = [name for name in tables.list_tables("made") if name[-1].startswith("orders_")]
    return tables.load_table(name)


@pytest.mark.parametrize(
    ("by", "found"),
    [
        ("hour", ("hours(ordered_at)",)),
        ("day", ("days(ordered_at)",)),
        ("month", ("months(ordered_at)",)),
        ("year", ("years(ordered_at)",)),
        (
            '["days(ordered_at)", "bucket(16, order_id)", "truncate(4, customer)", currency]',
            ("days(ordered_at)", "bucket(16, order_id)", "truncate(4, customer)", "currency"),
        ),
    ],
)
def test_as_the_pipeline_says(make: Make, by: str, found: tuple[str, ...]) -> None:
    assert make(by) == found
    assert make(by) == found, "also when the table is there"


def test_by_the_topics_density_where_it_says_nothing(make: Make) -> None:
    assert make(None, Density(170_000, timedelta(hours=3_440))) == ("days(ordered_at)",)
    assert make(None, Density(10**9, timedelta(hours=3_440))) == ("days(ordered_at)",), "the table was there"


def test_hours_where_nothing_is_known(make: Make) -> None:
    assert make(None) == ("hours(ordered_at)",)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("[days(placed_at)]", "no column placed_at"),
        ("[days(order_id)]", "order_id is string: Iceberg has no day"),
        ('[days(ordered_at), "truncate(4, ordered_at)"]', "ordered_at is timestamp: Iceberg has no truncate"),
    ],
)
def test_what_the_columns_do_not_have_is_refused_before_the_table_is_made(
    make: Make, by: str, words: str, spark: SparkForTests
) -> None:
    with pytest.raises(OutputError, match=words):
        make(by)
    assert make(None) == ("hours(ordered_at)",), "nothing was made before"


def test_a_table_that_is_partitioned_otherwise_is_refused(make: Make) -> None:
    make('["days(ordered_at)", "bucket(16, order_id)"]')
    with pytest.raises(OtherPartitioningError, match=r"is partitioned by days\(ordered_at\), bucket") as refused:
        make("hour")
    assert 'partitionBy: ["days(ordered_at)", "bucket(16, order_id)"]' in refused.value.remedy
    for other in ("[days(ordered_at)]", '["days(ordered_at)", "bucket(8, order_id)"]'):
        with pytest.raises(OtherPartitioningError):
            make(other)
    make(None)


def test_a_keyed_table_is_partitioned_only_if_its_pipeline_says_so(make: Make, spark: SparkForTests) -> None:
    assert make(None, kind="upsert") == ()
    spark.catalog.open().drop_table(orders_table(spark).name())
    assert make('["bucket(16, order_id)"]', kind="upsert") == ("bucket(16, order_id)",)


@pytest.mark.parametrize(("owners", "then"), [(None, "false"), ("true", "true")])
def test_merges_into_a_partitioned_table_of_somebody_elses_keep_one_file_open(
    make: Make, spark: SparkForTests, owners: str | None, then: str
) -> None:
    """MERGE takes no write options. What the table's owner has chosen stays."""
    make("day", kind="upsert")
    name = spark_name(spark.catalog, ".".join(orders_table(spark).name()))
    spark.session.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('{FANOUT}')")
    if owners is not None:
        spark.session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{FANOUT}'='{owners}')")
    make(None, kind="upsert")
    assert orders_table(spark).properties[FANOUT] == then
