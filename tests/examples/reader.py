"""Somebody who types the commands of an example's README, with live and replays on the run's one Spark session."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from threading import Event

from pyiceberg.table import Table

from anabranch.adapters.iceberg.live import last_live_commit
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.backfill import BackfillRun, submit_contract
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import open_project
from anabranch.contract.load import LoadedPipeline, load_contract, load_pipelines
from anabranch.live.driver import Driver
from anabranch.live.pace import LivePace
from anabranch.plan.plan import Plan
from anabranch.validate.report import Report
from tests.fixtures.broker import KafkaForTests, eventually
from tests.fixtures.spark import SparkForTests
from tests.scenarios.backfills import Onlooker

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
Rows = Counter[tuple[object, ...]]


def commands(readme: Path) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", readme.read_text(), re.DOTALL)
    return [command for block in blocks for command in re.findall(r"^\$ (.+)$", block, re.MULTILINE)]


@dataclass
class Repair:
    """What became of one contract."""

    plan: Plan
    former: Rows
    run: BackfillRun | None = None
    report: Report | None = None
    rows: Rows = field(default_factory=Counter)


@dataclass
class Reader:
    folder: Path
    kafka: KafkaForTests
    spark: SparkForTests
    store: SqlRunStore
    repairs: dict[str, Repair] = field(default_factory=dict)
    """By pipeline, the last one at the end."""
    _threads: ThreadPoolExecutor = field(default_factory=ThreadPoolExecutor)
    _live: dict[str, tuple[Event, Future[None]]] = field(default_factory=dict)
    _seconds: Iterator[int] = field(default_factory=count)

    def type(self, command: str) -> None:
        match shlex.split(command):
            case ["anabranch", "dev", _]:
                return  # the run's broker is up already, and stays
            case ["anabranch", "live", "start", name]:
                self._start(name)
            case ["anabranch", "live", "stop", name]:
                self._await_caught_up(name)
                self._stop(name)
            case ["anabranch", "plan", "-f", file]:
                self._plan(self.folder / file)
            case ["anabranch", "apply", "-f", file]:
                self._apply(self.folder / file)
            case ["anabranch", "promote", "last", "--yes"]:
                self._promote()
            case ["python", "generate.py", *_]:
                self._shell(f"{command} --bootstrap {self.kafka.bootstrap}")
            case _:
                self._shell(command)

    def _shell(self, command: str) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    # Live.

    def _start(self, name: str) -> None:
        stop = Event()
        driver = Driver(
            open_project(self.folder),
            self._pipeline(name),
            LivePace(interval_seconds=0.5),
            stop,
            say=lambda _: None,
            session=self.spark.session,
        )
        self._live[name] = stop, self._threads.submit(driver.run)

    def _stop(self, name: str) -> None:
        stop, running = self._live.pop(name)
        stop.set()
        running.result(120)

    def _await_caught_up(self, name: str) -> None:
        """Live has read all there is, and has closed every window that it can close by that."""
        pipeline = self._pipeline(name).pipeline.spec
        records = self.kafka.read_all(pipeline.source.topic)
        ends = {record.partition: record.offset + 1 for record in records}  # a partition's records come in their order
        newest = max(json.loads(record.value or b"")["date_time"] for record in records)

        def caught_up() -> bool:
            _, running = self._live[name]
            if running.done():
                running.result()  # raises why it ended
            tables = open_project(self.folder).catalog.open()
            if not tables.table_exists(pipeline.target.table):
                return False
            table = tables.load_table(pipeline.target.table)
            last = last_live_commit(table, name)
            return last is not None and last.position == ends and closed(table, last.snapshot)

        def closed(table: Table, snapshot: int) -> bool:
            if pipeline.window is None:
                return True
            said = table.snapshot_by_id(snapshot)
            assert said is not None
            assert said.summary is not None
            lateness = pipeline.window.lateness // timedelta(milliseconds=1)
            return said.summary.additional_properties["anabranch.watermark"] == str(newest - lateness)

        eventually(caught_up, 180)

    # Backfills.

    def _plan(self, contract: Path) -> None:
        project_context = open_project(self.folder)
        name = load_contract(project_context.loaded, contract).pipeline.name
        self._await_caught_up(name)
        plan = plan_backfill(project_context, contract, now=NOW).plan
        self.repairs[name] = Repair(plan, self.rows(plan.target.table))

    def _apply(self, contract: Path) -> None:
        project_context, repair = open_project(self.folder), self._last
        moment = NOW + next(self._seconds) * timedelta(seconds=1)
        run = BackfillRun(
            project_context,
            self.store,
            submit_contract(project_context, self.store, contract, now=moment, actor="ann").id,
        )
        run.__dict__["_spark"] = self.spark.session
        repair.run = run
        with run.lease() as lease:
            run.replay(lease, Onlooker())
            repair.report = run.validate(lease, NOW).report

    def _promote(self) -> None:
        repair = self._last
        assert repair.run is not None
        with repair.run.lease() as lease:
            repair.run.promote(lease, Onlooker(), NOW)
        repair.rows = self.rows(repair.plan.target.table)

    @property
    def _last(self) -> Repair:
        return list(self.repairs.values())[-1]

    def rows(self, table: str) -> Rows:
        """The table's rows, each a tuple in the order of its columns."""
        found = open_project(self.folder).catalog.open().load_table(table).scan().to_arrow().to_pylist()
        return Counter(tuple(row.values()) for row in found)

    def _pipeline(self, name: str) -> LoadedPipeline:
        return load_pipelines(open_project(self.folder).loaded)[name]

    def leave(self) -> None:
        """Stop what is still running."""
        for stop, _ in self._live.values():
            stop.set()
        self._threads.shutdown()
        self.store.close()
