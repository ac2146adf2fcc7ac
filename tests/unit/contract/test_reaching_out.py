"""What a transform may reach the outside world by is found in its code, and in what it imports from the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.plan.world import World

from anabranch.contract.pipeline import Pipeline
from anabranch.contract.reaching_out import find_reaching_out

PURE = (
    "from decimal import Decimal\nfrom pyspark.sql import functions as F\n\ndef transform(events):\n    return events\n"
)


def found_in(pipeline: Pipeline, folder: Path, source: str, helper: str = "") -> tuple[str, ...]:
    (folder / "transforms").mkdir(parents=True, exist_ok=True)
    (folder / "transforms" / "orders.py").write_text(source)
    (folder / "transforms" / "helper.py").write_text(helper)
    return find_reaching_out(folder, pipeline)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return World.below(tmp_path_factory.mktemp("reaching") / "shop").request().pipeline


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (PURE, ()),
        (PURE + "import smtplib\n", ("transforms/orders.py:6 smtplib",)),
        (PURE + "import pyspark\n", ("transforms/orders.py:6 pyspark",)),
        (PURE + "def more(rows):\n    import requests\n", ("transforms/orders.py:7 requests",)),
        (PURE + "open('log', 'a')\n", ("transforms/orders.py:6 open",)),
        (
            PURE + "def more(rows):\n    rows.write.save('x')\n",
            ("transforms/orders.py:7 save", "transforms/orders.py:7 write"),
        ),
        (PURE + "def more(s):\n    s.sql(statement)\n", ("transforms/orders.py:7 sql",)),
        (PURE + "from transforms import helper\n", ("transforms/helper.py:1 urllib.request",)),
        (PURE + "from .helper import call\n", ("transforms/helper.py:1 urllib.request",)),
    ],
)
def test_imports_and_calls_that_only_compute_are_none(
    pipeline: Pipeline, tmp_path: Path, source: str, found: tuple[str, ...]
) -> None:
    assert found_in(pipeline, tmp_path, source, "import urllib.request\n") == found
