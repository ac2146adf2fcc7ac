"""The transform as it is loaded from a project: fresh, alone, and its faults led back to the user's line."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from tests.fixtures.spark import SparkForTests
from tests.unit.spark.conftest import pipeline, records

from anabranch.adapters.spark.decode.decode import decode, events_of
from anabranch.adapters.spark.transform.errors import TransformFailedError
from anabranch.adapters.spark.transform.load import (
    LoadedTransform,
    NotRowsError,
    TransformUnloadableError,
    load_transform,
    ship,
)
from anabranch.adapters.spark.transform.project_modules import ModuleNameTakenError
from anabranch.adapters.spark.write.prefetch import Prefetch
from anabranch.contract.code import code_digest
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.slices import Slice

pytestmark = pytest.mark.spark

COLUMNS = {"id": "string", "n": "bigint", "at": "timestamp"}
VALUES = [b'{"id":"a","n":1,"at":"2025-06-01T10:00:00Z"}', b'{"id":"b","n":2,"at":"2025-06-01T11:00:00Z"}']


def project(folder: Path, package: str = "transforms", **files: str) -> Path:
    """A folder with these files below a package."""
    for name, text in files.items():
        file = folder / package / (name.replace("__", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_000_000_000, 1_000_000_000))  # as if all were written in the same second
    return folder


def described(folder: Path, **spec: object) -> Pipeline:
    return pipeline(folder, COLUMNS, event_time={"field": "at"}, **spec)


def events(spark: SparkForTests, spec: Pipeline) -> DataFrame:
    return events_of(decode(records(spark.session, VALUES), spec.spec))


def loaded(folder: Path, text: str) -> tuple[LoadedTransform, Pipeline]:
    found = described(project(folder, orders=text))
    return load_transform(folder, found), found


def test_two_versions_and_two_projects_live_side_by_side(
    spark: SparkForTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with helpers of the same module name, and a file of the same size written in the same second."""
    body = "from transforms.rates import RATE\ndef transform(events):\n    return events.selectExpr(f'n*{RATE} n')\n"
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    first, second = tmp_path / "one", tmp_path / "two"
    transforms = []
    for folder, rate in ((first, 2), (second, 3), (first, 5)):
        found = described(project(folder, orders=body, rates=f"RATE = {rate}\n"))
        transforms.append((load_transform(folder, found), found, rate))

    for transform, found, rate in transforms:
        assert [row.n for row in transform(events(spark, found)).orderBy("n").collect()] == [rate, 2 * rate]
    assert len({transform.digest for transform, _, _ in transforms}) == 3
    assert not [name for name in sys.modules if name.split(".")[0] == "transforms"]
    assert not list(tmp_path.rglob("__pycache__")), "nothing is left in the user's project"


def test_a_function_for_each_row_reaches_the_workers_with_what_it_imports(spark: SparkForTests, tmp_path: Path) -> None:
    text = (
        "from pyspark.sql import functions as F\n"
        "from charges import rates\n"
        "@F.udf('bigint')\n"
        "def twice(n):\n"
        "    from charges.late import ADD\n"
        "    return n * rates.RATE + ADD\n"
        "def transform(events):\n"
        "    return events.select(twice('n').alias('n'))\n"
    )
    # A package of its own: the workers of this run's one session have been given other projects' `transforms`.
    folder = project(tmp_path, package="charges", orders=text, rates="RATE = 2\n", late="ADD = 100\n")
    found = described(folder, transform={"python": "charges.orders:transform"})
    transform = load_transform(folder, found)
    before = list(sys.path)
    ship(spark.session, transform, found)

    assert sorted(row.n for row in transform(events(spark, found)).collect()) == [102, 104]
    assert sys.path == before


def test_sql_sees_its_own_events_whoever_else_is_at_it(spark: SparkForTests, tmp_path: Path) -> None:
    (tmp_path / "rows.sql").write_text("SELECT id, n FROM events WHERE n > 1;\n")
    found = described(tmp_path, transform={"sql": "rows.sql"})
    transform = load_transform(tmp_path, found)
    assert transform.digest == code_digest(tmp_path, found)
    answers: list[list[str]] = []

    def ask(value: bytes) -> None:
        given = events_of(decode(records(spark.session, [value]), found.spec))
        answers.append([row.id for row in transform(given).collect()])

    askers = [
        threading.Thread(target=ask, args=(f'{{"id":"{n}","n":{n},"at":"2025-06-01T10:00:00Z"}}'.encode(),))
        for n in range(4)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()

    assert sorted(answers) == [[], [], ["2"], ["3"]]
    assert not spark.session.catalog.tableExists("events")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("def transform(events):\n    x = 1\n    return events.select('nosuch')\n", "orders.py:3", "nosuch"),
        ("def transform(events):\n    return 1 / 0\n", "orders.py:2", "ZeroDivisionError"),
        ("def transform(events):\n    return missing(events)\n", "orders.py:2", "missing"),
    ],
)
def test_a_fault_names_the_users_line(spark: SparkForTests, tmp_path: Path, text: str, place: str, words: str) -> None:
    transform, found = loaded(tmp_path, text)

    with pytest.raises(TransformFailedError) as failed:
        transform(events(spark, found))

    assert f"transforms/{place}" in failed.value.what
    assert words in failed.value.what
    assert "\n" not in f"{failed.value.what}{failed.value.cause}", "no plan, no Java"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            "from pyspark.sql import functions as F\ndef transform(events):\n"
            "    broken = F.udf(lambda n: n / 0, 'double')\n"
            "    return events.select(broken('n').alias('n'))\n",
            "orders.py:3",
            "ZeroDivisionError: division by zero",
        ),
        (
            "from pyspark.sql import functions as F\ndef transform(events):\n    number = F.col('id').cast('int')\n"
            "    return events.select(number.alias('n'))\n",
            "orders.py:3",
            "CAST_INVALID_INPUT",
        ),
    ],
)
def test_a_fault_that_shows_only_when_rows_are_made_names_it_too(
    spark: SparkForTests, tmp_path: Path, text: str, place: str, words: str
) -> None:
    transform, found = loaded(tmp_path, text)
    rows = transform(events(spark, found))

    with pytest.raises(TransformFailedError) as failed, transform.attribute_transform_errors():
        rows.write.format("noop").mode("overwrite").save()

    assert f"transforms/{place}" in failed.value.what
    assert words in failed.value.what
    assert "\n" not in f"{failed.value.what}{failed.value.cause}"


def test_a_fault_names_its_line_when_another_thread_put_the_query_together(
    spark: SparkForTests, tmp_path: Path
) -> None:
    transform, found = loaded(
        tmp_path,
        "from pyspark.sql import functions as F\ndef transform(events):\n    number = F.col('id').cast('int')\n"
        "    return events.select(number.alias('n'))\n",
    )

    given = events(spark, found)

    ahead, slice_ = Prefetch(lambda _: transform(given), lambda _, rows: rows), Slice("s00001", {0: (0, 1)})
    ahead.prefetch(slice_)
    rows = ahead.take(slice_)
    with pytest.raises(TransformFailedError) as failed, transform.attribute_transform_errors():
        rows.write.format("noop").mode("overwrite").save()

    assert "transforms/orders.py:3" in failed.value.what


def test_a_fault_in_sql_names_the_file_and_line(spark: SparkForTests, tmp_path: Path) -> None:
    (tmp_path / "rows.sql").write_text("SELECT id,\n  nosuch\nFROM events\n")
    found = described(tmp_path, transform={"sql": "rows.sql"})

    with pytest.raises(TransformFailedError) as failed:
        load_transform(tmp_path, found)(events(spark, found))

    assert "rows.sql:2" in failed.value.what
    assert "nosuch" in failed.value.what


def test_sql_that_is_no_query_is_not_carried_out(spark: SparkForTests, tmp_path: Path) -> None:
    spark.session.sql("CREATE NAMESPACE IF NOT EXISTS lake.precious")
    spark.session.sql("CREATE TABLE lake.precious.rows (id string) USING iceberg")
    (tmp_path / "rows.sql").write_text("DROP TABLE lake.precious.rows")
    found = described(tmp_path, transform={"sql": "rows.sql"})

    with pytest.raises(TransformFailedError, match=r"rows\.sql:1"):
        load_transform(tmp_path, found)(events(spark, found))

    assert spark.session.catalog.tableExists("lake.precious.rows")


def test_what_is_no_dataframe_is_refused(spark: SparkForTests, tmp_path: Path) -> None:
    transform, found = loaded(tmp_path, "def transform(events):\n    return None\n")

    with pytest.raises(NotRowsError, match="NoneType"):
        transform(events(spark, found))


def test_code_outside_the_top_folder_can_not_be_imported(tmp_path: Path) -> None:
    """The digest would not change with it."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "secret_rate.py").write_text("RATE = 1\n")
    folder = project(tmp_path, orders="from lib.secret_rate import RATE\ndef transform(events):\n    return events\n")

    with pytest.raises(TransformUnloadableError, match=r"transforms/orders\.py:1"):
        load_transform(folder, described(folder))


def test_a_module_that_python_has_already_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("def transform(events):\n    return events\n")
    found = described(tmp_path, transform={"python": "json:transform"})

    with pytest.raises(ModuleNameTakenError):
        load_transform(tmp_path, found)
