"""A year of sparse events in a project as `anabranch init` writes it, in processes of their own with its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from anabranch.adapters.embedded.stack import EmbeddedKafka
from anabranch.adapters.iceberg.partitioning import partitioning_of
from anabranch.app.project_context import open_project
from anabranch.project.scaffold import plan_project, write_project
from tests.scenarios import flights

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
EVERY = int(os.environ.get("FLIGHTS_EVERY", "5"))
"""One flight of so many; 1 for all 336,776."""
HALF = (datetime(2013, 1, 1, tzinfo=timezone.utc), datetime(2013, 7, 1, tzinfo=timezone.utc))
PATIENCE = 1500


@dataclass(frozen=True)
class Operator:
    """Somebody at a command line, in a new project."""

    folder: Path
    bootstrap: str

    def run(self, *command: str) -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith("ANABRANCH_CONTEXT")}
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "anabranch", *command],
            cwd=self.folder,
            env={**own, "NO_COLOR": "1", "ANABRANCH_ACTOR": "tests"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        sys.stderr.write(f"{' '.join(command)}: {time.monotonic() - began:.1f} s\n")
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def correct(self, mile: object) -> None:
        (self.folder / "transforms" / "flights.py").write_text(flights.TRANSFORM.format(mile=mile))

    def await_no_lag(self) -> None:
        deadline, status = time.monotonic() + PATIENCE, self.status()
        while status["state"] not in ("failed", "stopped") and status["lag"]["total"]:
            assert time.monotonic() < deadline, "live did not catch up"
            time.sleep(1)
            status = self.status()
        assert status["lag"]["total"] == 0, status

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("live", "status", "flights", "-o", "json"))
        return found

    def rows(self) -> flights.Rows:
        table = open_project(self.folder, "dev").catalog.open().load_table(flights.TABLE)
        found = table.scan().to_arrow().to_pylist()
        return Counter(tuple(row[name] for name in flights.COLUMNS) for row in found)

    def partitioning(self) -> list[str]:
        table = open_project(self.folder, "dev").catalog.open().load_table(flights.TABLE)
        return [str(field) for field in partitioning_of(table)]


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    folder = tmp_path / "shop"
    write_project(plan_project(folder, "shop"))
    stack = EmbeddedKafka(folder / ".anabranch")
    stack.up(1, patience=120)
    operator = Operator(folder, open_project(folder, "dev").kafka.bootstrap)
    yield operator
    operator.run("live", "stop", "flights")
    stack.down()


@pytest.mark.parametrize(
    ("setting", "found"),
    [("", "days(scheduled_at)"), ("    partitionBy: hour\n", "hours(scheduled_at)")],
    ids=["by default", "by the hour"],
)
def test_live_reaches_the_end_and_a_backfill_of_half_of_it_is_exact(
    operator: Operator, setting: str, found: str
) -> None:
    operator.correct(flights.NAUTICAL_MILE)
    said = flights.PIPELINE.replace("    table: shop.flights\n", f"    table: shop.flights\n{setting}")
    (operator.folder / "pipelines" / "flights.yaml").write_text(said)
    (operator.folder / "contracts" / "miles.yaml").write_text(json.dumps(flights.CONTRACT))
    made = flights.produce(operator.bootstrap, EVERY)
    events = flights.consumed(operator.bootstrap)
    assert len(events) == made

    operator.run("live", "start", "flights")
    operator.await_no_lag()
    operator.run("live", "stop", "flights")
    assert operator.partitioning() == [found]
    before = flights.recomputed(events, None)
    assert operator.rows() == before

    operator.correct(flights.MILE)
    operator.run("apply", "-f", "contracts/miles.yaml")
    assert operator.rows() == before
    operator.run("promote", "last", "--yes")
    assert operator.rows() == flights.recomputed(events, HALF)
    operator.run("rollback", "last", "--yes")
    assert operator.rows() == before
