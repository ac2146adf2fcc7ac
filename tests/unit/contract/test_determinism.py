"""Calls that give another result each time are found in a transform without running it, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.plan.world import pipeline

from anabranch.contract.determinism.in_python import find_in_python
from anabranch.contract.determinism.in_sql import find_in_sql
from anabranch.contract.determinism.transform import UnreadableModuleError, find_unpinned
from anabranch.plan.repeatable import NotRepeatableError, require_repeatable
from anabranch.project.scaffold import plan_project, write_project


def in_sql(text: str, columns: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    return [(each.line, each.name) for each in find_in_sql(text, "f.sql", columns=columns)]


def in_python(text: str) -> list[tuple[int, str]]:
    return [(each.line, each.name) for each in find_in_python(text.encode(), "f.py")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT rand() FROM events", [(1, "rand")]),
        ("SELECT\n  UUID ( ) AS id,\n  Now() AS at", [(2, "uuid"), (3, "now")]),
        ("SELECT current_timestamp FROM events", [(1, "current_timestamp")]),
        ("SELECT /* x */ current_date - 1", [(1, "current_date")]),
        ("SELECT TIMESTAMP 'now', DATE \"today\"", [(1, "now"), (1, "now")]),
        ("SELECT unix_timestamp()", [(1, "unix_timestamp")]),
        ("SELECT unix_timestamp(ordered_at), TIMESTAMP '2025-01-01'", []),
        ("SELECT 'rand()', \"now()\" -- uuid()\n/* now()\n rand() */ FROM events", []),
        ("SELECT `rand()`, e.now, uuid, rand AS x FROM events e", []),
        ("SELECT 'it\\'s' || rand()", [(1, "rand")]),
        ("SELECT ordered_at AS current_date FROM events", []),
        ("SELECT 1 /* never closed rand()", []),
        ("SELECT * FROM events e\nJOIN shop.rates r ON e.a = r.a", [(2, "table")]),
        ("WITH x AS (SELECT * FROM `shop`.`rates`) SELECT * FROM events, x", [(1, "table")]),
        ("SELECT * FROM events,\n lake.shop.rates", [(1, "table")]),
        ("SELECT * FROM (SELECT a FROM events) e JOIN rates r ON e.a = r.a, x WHERE e.a IN (1, e.b)", []),
        ("SELECT EXTRACT(day FROM e.at), TRIM(BOTH 'x' FROM e.a) FROM events e ORDER BY a, e.b", []),
        ("SELECT e.a IS DISTINCT FROM e.b FROM events e LATERAL VIEW explode(e.x) AS y", []),
    ],
)
def test_sql_is_read_by_its_tokens(text: str, found: list[tuple[int, str]]) -> None:
    assert in_sql(text) == found


def test_a_column_of_the_source_is_a_column() -> None:
    assert in_sql("SELECT current_date FROM events", columns=frozenset({"current_date"})) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from pyspark.sql import functions as F\nx = F.rand()", [(2, "rand")]),
        ("import pyspark.sql.functions as f\nx = f.current_timestamp()", [(2, "current_timestamp")]),
        ("import pyspark.sql.functions\nx = pyspark.sql.functions.uuid()", [(2, "uuid")]),
        ("from pyspark.sql.functions import rand as chance\nx = chance(7)", [(2, "rand")]),
        ("from pyspark.sql.functions import *\nx = shuffle(y)", [(2, "shuffle")]),
        ("from pyspark.sql import functions as F\nx = F.expr('a + rand()')", [(2, "rand")]),
        ("df.selectExpr('a', f'now() as {name}')", [(1, "now")]),
        ("df.where('rand() < 0.5')", [(1, "rand")]),
        ("F.call_function('uuid')", [(1, "uuid")]),
        ("from pyspark.sql import functions as F\ngetattr(F, 'randn')()", [(2, "randn")]),
        ("import datetime as dt\nx = dt.datetime.now()", [(2, "datetime.datetime.now")]),
        ("from datetime import datetime\ndef f(x):\n  return datetime.utcnow()", [(3, "datetime.datetime.utcnow")]),
        ("from time import time\nx = time()", [(2, "time.time")]),
        ("import random\nx = random.choice(y)", [(2, "random")]),
        ("from uuid import uuid4\nfield(default_factory=uuid4)", [(2, "uuid.uuid4")]),
        ("import numpy as np\nx = np.random.default_rng()", [(2, "numpy.random")]),
        ("events.sample(0.1)", [(1, "sample")]),
        ("events.sparkSession.table('shop.rates')", [(1, "table")]),
        ("spark.read.table('shop.rates')", [(1, "table"), (1, "read")]),
        ("x = spark.read.format('csv').load(p)", [(1, "read")]),
        ("spark.sql('SELECT * FROM shop.rates')", [(1, "table")]),
        ("x = open(p).read().strip()", []),
        (
            "from pyspark.sql import functions as F\nF.monotonically_increasing_id()",
            [(2, "monotonically_increasing_id")],
        ),
        ("from pyspark.sql import functions as F\nx = F.unix_timestamp('a')", []),
        ("def rand():\n  return 4\nx = rand()", []),
        ("from pyspark.sql.functions import *\ndef uuid(x):\n  return x\ny = uuid(1)", []),
        ("x = 'rand()'\nlog('now()')", []),
        ("import uuid\nx = uuid.uuid5(uuid.NAMESPACE_DNS, 'a')", []),
        ("from datetime import datetime\nx = datetime(2025, 1, 1)", []),
        ("from time import strptime\nx = row.time(), clock.now()", []),
    ],
)
def test_python_is_read_by_its_tree(text: str, found: list[tuple[int, str]]) -> None:
    assert in_python(text) == found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(plan_project(tmp_path / "shop", "shop"))
    return tmp_path / "shop"


def test_the_templates_own_transforms_are_clean(project: Path) -> None:
    assert find_unpinned(project, pipeline(project)) == ()
    assert find_unpinned(project, pipeline(project, transform={"sql": "transforms/payments.sql"})) == ()


def test_imported_files_count_and_neighbours_do_not(project: Path) -> None:
    code = project / "transforms"
    (code / "neighbour.py").write_text("import random\nx = random.random()\n")
    (code / "rates").mkdir()
    (code / "rates" / "__init__.py").write_text("from .today import rate\n")
    (code / "rates" / "today.py").write_text("\nimport time\n\nrate = time.time()\n")
    orders = code / "orders.py"
    assert find_unpinned(project, pipeline(project)) == ()
    orders.write_text("from .rates import rate\n" + orders.read_text())
    [found] = find_unpinned(project, pipeline(project))
    assert (found.place, found.name) == ("transforms/rates/today.py:4", "time.time")


def test_a_call_is_refused_unless_the_pipeline_allows_it_by_name(project: Path) -> None:
    orders = project / "transforms" / "orders.py"
    orders.write_text("import uuid\nSALT = uuid.uuid4()\n" + orders.read_text())
    plain = pipeline(project)
    found = find_unpinned(project, plain)
    with pytest.raises(NotRepeatableError) as refused:
        require_repeatable(plain, found)
    assert "transforms/orders.py:2" in refused.value.what
    assert "run.uuid" in refused.value.remedy
    transform = {"python": "transforms.orders:transform", "allow": ["uuid.uuid4"]}
    assert require_repeatable(pipeline(project, transform=transform), found) == found
    other = {"python": "transforms.orders:transform", "allow": ["rand"]}
    with pytest.raises(NotRepeatableError):
        require_repeatable(pipeline(project, transform=other), found)


def test_a_broken_import_is_told_with_its_line(project: Path) -> None:
    orders = project / "transforms" / "orders.py"
    orders.write_text("from . import broken\n" + orders.read_text())
    (project / "transforms" / "broken.py").write_text("x = 1\ndef f(:\n")
    with pytest.raises(UnreadableModuleError, match=r"transforms/broken.py:2"):
        find_unpinned(project, pipeline(project))
