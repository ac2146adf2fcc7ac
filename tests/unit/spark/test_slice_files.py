"""A slice's files are those that Iceberg's own writer makes of the same rows, to the byte, and nobody's if it fails."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.spark.native.data_files import DataFiles, FilesTemplate
from anabranch.adapters.spark.write.target_table import spark_name

pytestmark = pytest.mark.spark

NAME = "files.orders"
COLUMNS = (
    "id string, town string, raw binary, amount decimal(18,2), rate decimal(9,4), huge decimal(30,4), weight double, "
    "number int, big bigint, open boolean, day date, here timestamp_ntz, "
    "lines array<struct<item:string,pieces:bigint>>, at timestamp"
)
NOON = datetime(2025, 6, 2, 12, tzinfo=timezone.utc)
Row = tuple[Any, ...]


@pytest.fixture
def make(spark: SparkForTests) -> Iterator[Callable[..., str]]:
    """Makes a new table for the rows, with these partitions and properties."""
    table = spark_name(spark.catalog, NAME)

    def made(partitions: str = "hours(at)", /, columns: str = COLUMNS, **properties: str) -> str:
        said = ", ".join(f"'{name}'='{value}'" for name, value in properties.items()) or "'some'='thing'"
        spark.session.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rsplit('.', 1)[0]}")
        spark.session.sql(f"DROP TABLE IF EXISTS {table} PURGE")
        spark.session.sql(
            f"CREATE TABLE {table} ({columns}) USING iceberg PARTITIONED BY ({partitions}) TBLPROPERTIES ({said})"
        )
        return table

    yield made
    spark.session.sql(f"DROP TABLE IF EXISTS {table} PURGE")


def some_rows(count: int, *, towns: int, spread: timedelta = timedelta(hours=3), nulls: float = 0.05) -> list[Row]:
    chance = random.Random(count * towns)

    def maybe(value: object) -> object:
        return None if chance.random() < nulls else value

    def row(number: int) -> Row:
        town = chance.randrange(towns)
        return (
            f"o-{number:09}",
            maybe(f"town-{town}" * (town % 5)),
            maybe(chance.randbytes(town % 40)),
            maybe(Decimal(town * 31 - 400) / 100),
            maybe(Decimal(town * 31 - 400) / 10_000),
            maybe(Decimal(number) * 10**20),
            maybe(chance.choice([0.0, -0.0, float("nan"), 1.5, float(town)])),
            maybe(town),
            maybe((town - 3) * 2**40),
            maybe(town % 2 == 0),
            maybe((NOON - timedelta(days=town)).date()),
            maybe((NOON + timedelta(microseconds=number)).replace(tzinfo=None)),
            maybe([(f"item-{town % 7}", maybe(number)) for _ in range(town % 3)]),
            NOON + spread * chance.random() - timedelta(microseconds=chance.randrange(2)),
        )

    return [row(number) for number in range(count)]


def frame(spark: SparkForTests, rows: list[Row], columns: str = COLUMNS) -> DataFrame:
    """In one task, so that rows come to both writers in the same order."""
    return spark.session.createDataFrame(rows, columns).coalesce(1)


def ours(spark: SparkForTests, rows: DataFrame) -> DataFiles:
    return FilesTemplate(rows, spark.catalog, NAME).planned({}, {}, client="test", name="s00000").write()


def theirs(table: str, rows: DataFrame) -> None:
    rows.writeTo(table).option("fanout-enabled", "true").append()


def local(file: str) -> bytes:
    return Path(file.removeprefix("file:")).read_bytes()


def facts(file: Any) -> str:
    """All that Iceberg notes of a file, but where it is and which manifest it was read from."""
    said = {name: getattr(file, name)() for name in ("recordCount", "fileSizeInBytes", "sortOrderId", "specId")}
    maps = ("columnSizes", "valueCounts", "nullValueCounts", "nanValueCounts", "lowerBounds", "upperBounds")
    shown = {name: {k: _shown(v) for k, v in dict(getattr(file, name)() or {}).items()} for name in maps}
    return repr((said, sorted(shown.items()), str(file.partition()), str(file.splitOffsets()), str(file.format())))


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, int) else bytes(value.array()).hex()


def both(spark: SparkForTests, table: str, rows: DataFrame) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    """What is in the files that ours makes, and in those that Iceberg's makes."""
    made = ours(spark, rows).files
    theirs(table, rows)
    jvm: Any = spark.session._jvm
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark.session._jsparkSession, table)
    loaded.refresh()
    added = list(loaded.currentSnapshot().addedDataFiles(loaded.io()))
    one, other = ([(facts(file), local(file.location())) for file in files] for files in (made, added))
    return sorted(one), sorted(other)


@pytest.mark.parametrize(
    ("rows", "partitions", "properties"),
    [
        (some_rows(0, towns=1), "hours(at)", {}),
        (some_rows(1, towns=1), "hours(at)", {}),
        (some_rows(3000, towns=4), "hours(at)", {}),
        (some_rows(3000, towns=4, spread=timedelta(days=3)), "days(at)", {}),
        (some_rows(12, towns=9, spread=timedelta(days=-40_000)), "hours(at)", {}),
        (some_rows(600, towns=9, spread=timedelta(hours=36)), "hours(at)", {}),
        pytest.param(*(some_rows(60_000, towns=50_000, nulls=0), "hours(at)", {}), marks=pytest.mark.long),
        pytest.param(
            *(some_rows(60_000, towns=3000), "days(at)", {"write.parquet.dict-size-bytes": "20000"}),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(some_rows(60_000, towns=700), "days(at)", {"write.parquet.page-row-limit": "300"}), marks=pytest.mark.long
        ),
        pytest.param(
            *(some_rows(60_000, towns=700), "days(at)", {"write.parquet.row-group-size-bytes": "200000"}),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(some_rows(9000, towns=700), "days(at)", {"write.parquet.compression-codec": "gzip"}),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(some_rows(9000, towns=700), "days(at)", {"write.metadata.metrics.default": "full"}),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *(some_rows(9000, towns=700), "days(at)", {"write.parquet.bloom-filter-enabled.column.town": "true"}),
            marks=pytest.mark.long,
        ),
    ],
    ids=[
        *("nothing", "one row", "several hours", "by day", "before 1970", "more hours than files may be open"),
        "too many texts for a dictionary",
        *("a small dictionary", "many pages", "several groups of rows", "gzip", "metrics of everything", "a filter"),
    ],
)
def test_the_same_files_to_the_byte(
    spark: SparkForTests, make: Callable[..., str], rows: list[Row], partitions: str, properties: dict[str, str]
) -> None:
    table = make(partitions, **properties)
    one, other = both(spark, table, frame(spark, rows))
    assert [said for said, _ in one] == [said for said, _ in other]
    assert one == other


def test_only_so_many_files_are_open_at_a_time(spark: SparkForTests, make: Callable[..., str]) -> None:
    make()
    made = ours(spark, frame(spark, some_rows(2000, towns=9, spread=timedelta(days=20))))
    assert len(made.files) > 400
    opened: Any = spark.session._jvm.anabranch.OpenFiles  # type: ignore[union-attr]
    assert 1 < opened.peak() <= opened.MOST, "of all that this JVM has written until now"


@pytest.mark.parametrize(
    ("columns", "heap", "tasks", "most"),
    [(6, 1 << 30, 2, 32), (6, 1 << 30, 16, 5), (300, 1 << 30, 2, 3), (5000, 1 << 29, 64, 1)],
)
def test_wide_rows_and_many_tasks_leave_memory_for_fewer(
    spark: SparkForTests, columns: int, heap: int, tasks: int, most: int
) -> None:
    opened: Any = spark.session._jvm.anabranch.OpenFiles  # type: ignore[union-attr]
    assert opened.most(columns, heap, tasks) == most


@pytest.mark.long
def test_files_that_are_full_are_followed_by_others(spark: SparkForTests, make: Callable[..., str]) -> None:
    table = make("days(at)", **{"write.target-file-size-bytes": "100000"})
    rows = frame(spark, some_rows(20_000, towns=20_000, spread=timedelta(minutes=1)))
    one, other = both(spark, table, rows)
    assert one == other
    assert len(one) > 3


def test_the_dictionary_of_texts_is_ours(spark: SparkForTests, make: Callable[..., str]) -> None:
    """Else the comparisons above would be of Iceberg's with itself."""
    make()
    jvm: Any = spark.session._jvm
    columns = jvm.anabranch.Dictionaries.replaced()
    ours(spark, frame(spark, some_rows(100, towns=5)))
    assert jvm.anabranch.Dictionaries.replaced() > columns


def test_columns_that_must_have_a_value(spark: SparkForTests, make: Callable[..., str]) -> None:
    columns = "id string not null, number int not null, amount decimal(9,2) not null, at timestamp not null"
    table = make("hours(at)", columns=columns)
    rows = [(f"o-{number % 9}", number, Decimal(number) / 100, NOON) for number in range(400)]
    one, other = both(spark, table, frame(spark, rows, columns))
    assert one == other
    rows.append((None, 1, Decimal(1), NOON))  # type: ignore[arg-type]
    with pytest.raises(PySparkException, match=r"(?i)null"):
        ours(spark, frame(spark, rows, columns.replace(" not null", "")))


@pytest.mark.long
def test_texts_of_one_hash_are_told_apart(spark: SparkForTests, make: Callable[..., str]) -> None:
    texts = spark.session.range(400_000).select(F.concat(F.lit("town-"), "id").alias("town"))
    hashed = texts.withColumn("hash", F.xxhash64("town").bitwiseAND(0xFFFFFFFF))
    alike = hashed.groupBy("hash").agg(F.collect_list("town").alias("towns")).where(F.size("towns") > 1).collect()
    assert len(alike) > 3
    towns = [town for each in alike for town in each["towns"]] * 3
    table = make("hours(at)", columns="town string, at timestamp")
    rows = frame(spark, [(town, NOON) for town in towns], "town string, at timestamp")
    one, other = both(spark, table, rows)
    assert one == other


def test_a_row_that_says_no_moment_is_in_a_file_too(spark: SparkForTests, make: Callable[..., str]) -> None:
    """It is a stray, and found to be one when rows are counted."""
    table = make()
    rows = [(*row[:-1], None if number % 3 else row[-1]) for number, row in enumerate(some_rows(200, towns=3))]
    one, other = both(spark, table, frame(spark, rows))
    assert one == other


@pytest.mark.parametrize(
    ("partitions", "properties"),
    [
        ("months(at)", {}),
        ("hours(at), bucket(4, id)", {}),
        ("town", {}),
        ("hours(at)", {"write.format.default": "orc"}),
        ("hours(at)", {"write.format.default": "avro"}),
    ],
)
def test_what_ours_does_not_know_is_written_by_icebergs_own(
    spark: SparkForTests, make: Callable[..., str], partitions: str, properties: dict[str, str]
) -> None:
    table = make(partitions, **properties)
    rows = frame(spark, some_rows(500, towns=9))
    made = ours(spark, rows)
    assert made.rows == 500
    jvm: Any = spark.session._jvm
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark.session._jsparkSession, table)
    append = loaded.newFastAppend()
    for file in made.files:
        append.appendFile(file)
    append.commit()
    spark.session.catalog.refreshTable(table)
    assert spark.session.table(table).exceptAll(rows).count() == 0


def test_icebergs_own_writer_gets_rows_sorted_by_partition(spark: SparkForTests, make: Callable[..., str]) -> None:
    """It has one file open at a time then. Unsorted, it would raise at the first partition that comes again."""
    make("hours(at), bucket(4, id)")
    template = FilesTemplate(frame(spark, some_rows(500, towns=9)), spark.catalog, NAME)
    assert "Sort" in template.planned({}, {}, client="test", name="s00000").append.plan()
    make("hours(at)")
    template = FilesTemplate(frame(spark, some_rows(500, towns=9)), spark.catalog, NAME)
    assert "Sort" not in template.planned({}, {}, client="test", name="s00000").append.plan()


def test_a_write_that_fails_leaves_no_file_behind(spark: SparkForTests, make: Callable[..., str]) -> None:
    """Neither of the task that fails nor of those that were done before it."""
    make("hours(at)", **{"write.distribution-mode": "none"})
    one, other = (frame(spark, some_rows(5000, towns=9)) for _ in range(2))
    late = F.when(F.col("id") == "o-000004999", F.raise_error(F.lit("too late"))).otherwise(F.col("town"))
    folder = spark.state / "warehouse" / "files" / "orders" / "data"
    before = set(folder.rglob("*"))
    with pytest.raises(PySparkException, match="too late"):
        ours(spark, one.union(other.withColumn("town", late)))
    assert not [file for file in set(folder.rglob("*")) - before if file.suffix == ".parquet"]
