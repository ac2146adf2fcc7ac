"""A project whose commands are run as processes, to be killed and started again; its table is written without a JVM."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import HourTransform
from pyiceberg.types import DecimalType, NestedField, StringType, TimestamptzType
from tests.crash.checker import RIGHT, WRONG, Comparison, Order, compare, read_order
from tests.crash.orders import PARTITIONS, make_orders
from tests.fixtures.broker import KafkaForTests, Record
from tests.fixtures.project import ALONE

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.project.scaffold import plan_project, write_project

TABLE = "shop.orders"
BEGINNING = datetime(2025, 6, 1, tzinfo=timezone.utc)
SPAN = timedelta(hours=12)
RANGE = (BEGINNING + timedelta(hours=1), BEGINNING + timedelta(hours=11))
BUGGY = "b" * 64
"""The digest of the code that live ran before the fix."""
ON_CALL = "shop-oncall@example.com"
"""Whom the contract names for a rollback."""
FORFEIT = ("--forfeit-rollback", "--reason", "the test is over")
PATIENCE = 600
AT_ONCE = 20_000
"""A producer's queue takes so many and no more."""

_SCHEMA = Schema(
    NestedField(1, "order_id", StringType()),
    NestedField(2, "customer", StringType()),
    NestedField(3, "currency", StringType()),
    NestedField(4, "amount", DecimalType(18, 2)),
    NestedField(5, "amount_eur", DecimalType(18, 2)),
    NestedField(6, "ordered_at", TimestamptzType()),
)
_BY_HOUR = PartitionSpec(PartitionField(6, 1000, HourTransform(), "ordered_at_hour"))


@dataclass(frozen=True)
class Ended:
    """A command that is over. A negative code is the signal that killed it."""

    code: int
    out: str
    err: str


@dataclass
class Process:
    """A command under way, in a process group of its own with whatever JVM it starts."""

    popen: subprocess.Popen[bytes]
    out: Path
    err: Path

    def wait(self, seconds: float = PATIENCE) -> Ended:
        code = self.popen.wait(seconds)
        return Ended(code, self.out.read_text(), self.err.read_text())

    def await_said(self, *words: str) -> None:
        """Until one of these is in what it says on stderr."""
        self._await(lambda: any(each in self.err.read_text() for each in words), f"it to say {words}")

    def await_stopped(self) -> None:
        self._await(lambda: psutil.Process(self.popen.pid).status() == psutil.STATUS_STOPPED, "it to stop")

    def signal(self, number: signal.Signals, *, group: bool = False) -> None:
        (os.killpg if group else os.kill)(self.popen.pid, number)

    def _await(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert self.popen.poll() is None, f"waited for {what}, but it ended: {self.wait()}"
            assert time.monotonic() < deadline, f"waited too long for {what}: {self.err.read_text()}"
            time.sleep(0.02)

    def end(self) -> None:
        """Whatever is left of it, the JVM of a killed driver too."""
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait(PATIENCE)


@dataclass
class Shop:
    folder: Path
    kafka: KafkaForTests
    topic: str
    group: str
    ends: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """How many records each partition has: nobody else writes to the topic, and nothing there is a transaction."""
    mended: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """The offsets that live wrote by the mended code, at the right rate."""
    processes: list[Process] = field(default_factory=list)
    _orders: int = 0
    _batches: int = 0
    _seen: list[Order] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, kafka: KafkaForTests) -> Shop:
        """A new project with the template's pipeline, on the run's broker, with an empty table."""
        write_project(plan_project(folder, "shop"))
        topic = kafka.create_topic(kafka.unique_name("orders"), PARTITIONS, {"retention.ms": "-1"})
        group = kafka.unique_name("shop-orders")
        _edit(folder / "anabranch.yaml", {"bootstrap: embedded": f"bootstrap: {kafka.bootstrap}\n      {ALONE}"})
        _edit(folder / "pipelines" / "orders.yaml", {"topic: shop.orders": f"topic: {topic}", "shop-orders": group})
        (folder / "pipelines" / "payments.yaml").unlink()
        start, end = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in RANGE)
        contract = folder / "contracts" / "fix-currency.yaml"
        bounds = dict(re.findall(r"(from|to): (\S+)", contract.read_text()))
        _edit(contract, {f"from: {bounds['from']}": f"from: {start}", f"to: {bounds['to']}": f"to: {end}"})
        EmbeddedCatalog.below(folder / ".anabranch").create()
        shop = cls(folder, kafka, topic, group)
        shop.catalog.create_namespace("shop")
        properties = {"format-version": "2", "commit.retry.num-retries": "20"}
        shop.catalog.create_table(TABLE, _SCHEMA, partition_spec=_BY_HOUR, properties=properties)
        return shop

    # The table, the topic and the database, looked at by plain clients.

    @property
    def catalog(self) -> Catalog:
        state = self.folder / ".anabranch"
        settings = {"type": "sql", "init_catalog_tables": "false", "warehouse": (state / "warehouse").as_uri()}
        return load_catalog("lake", **settings, uri=f"sqlite:///{state / 'catalog.db'}?timeout=60")

    @property
    def table(self) -> Table:
        return self.catalog.load_table(TABLE)

    @property
    def refs(self) -> dict[str, int]:
        return {name: ref.snapshot_id for name, ref in self.table.metadata.refs.items()}

    def said(self, ref: str) -> list[dict[str, str]]:
        """What every commit of the ref's history says of itself, newest first."""
        table = self.table
        snapshot, found = table.snapshot_by_name(ref), []
        while snapshot is not None:
            found.append(dict(snapshot.summary.additional_properties) if snapshot.summary else {})
            snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
        return found

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """A question to the control database."""
        with closing(sqlite3.connect(self.folder / ".anabranch" / "anabranch.db", timeout=60)) as database:
            return database.execute(query).fetchall()

    @property
    def state(self) -> str:
        [(state,)] = self.ask("SELECT state FROM runs")
        return str(state)

    @property
    def run_id(self) -> str:
        [(run_id,)] = self.ask("SELECT id FROM runs")
        return str(run_id)

    @property
    def plan(self) -> dict[str, Any]:
        [(document,)] = self.ask("SELECT plan FROM documents")
        plan: dict[str, Any] = json.loads(document)
        return plan

    @property
    def closure(self) -> dict[str, Any]:
        record = self.folder / ".anabranch" / "runs" / self.run_id / "closure.json"
        closure: dict[str, Any] = json.loads(record.read_text())
        return closure

    # What the shop sells, and what live makes of it.

    def sell(self, count: int, beginning: datetime = BEGINNING, span: timedelta = SPAN) -> dict[int, tuple[int, int]]:
        """Put orders into the topic, and return the offsets they have."""
        before = dict(self.ends)
        records = make_orders(count, first=self._orders, beginning=beginning, span=span)
        while batch := list(islice(records, AT_ONCE)):
            self.kafka.produce(self.topic, batch)
            for record in batch:
                self.ends[record["partition"]] += 1
        self._orders += count
        return {partition: (before.get(partition, 0), end) for partition, end in sorted(self.ends.items())}

    def live(self, offsets: Mapping[int, tuple[int, int]], code: str) -> None:
        """One commit of live with the rows of these offsets, as its driver would make it."""
        if code != BUGGY:
            for partition, slice_ in offsets.items():
                self.mended[partition].append(slice_)
        mine = [order for order in self.orders() if _holds({p: [slice_] for p, slice_ in offsets.items()}, order)]
        rates = WRONG if code == BUGGY else RIGHT
        columns = zip(*(order.row(rates) for order in mine), strict=True)
        values = dict(zip(_SCHEMA.column_names, map(list, columns), strict=True))
        values["ordered_at"] = [datetime.fromisoformat(at) for at in values["ordered_at"]]
        said = {
            "anabranch.author": "live",
            "anabranch.pipeline": "orders",
            "anabranch.code": code,
            "anabranch.query": "query",
            "anabranch.batch": str(self._batches),
            "anabranch.commit": f"live-query-{self._batches}",
            "anabranch.offsets": json.dumps({str(p): list(slice_) for p, slice_ in offsets.items()}),
        }
        self._batches += 1
        self.table.append(pa.table(values, schema=_SCHEMA.as_arrow()), snapshot_properties=said)

    def records(self) -> list[Record]:
        """All that a plain consumer reads."""
        return self.kafka.read_all(self.topic)

    def orders(self) -> list[Order]:
        """Every order in the topic; read again only when there are more."""
        if len(self._seen) != sum(self.ends.values()):
            self._seen = [read_order(record) for record in self.records()]  # type: ignore[misc]
            assert len(self._seen) == sum(self.ends.values())
        return [order for order in self._seen if order is not None]

    def compare(self, *, promoted: bool, ref: str = "main") -> Comparison:
        """The table against the topic: right where live's code was mended, and with the run, all over the range."""

        def is_right(order: Order) -> bool:
            return _holds(self.mended, order) or (promoted and RANGE[0] <= order.placed < RANGE[1])

        return compare(self.orders(), is_right, self.table, ref)

    # Commands.

    def start(self, *arguments: str, **environment: str) -> Process:
        process = start_command(self.folder, f"{len(self.processes):03}", *arguments, **environment)
        self.processes.append(process)
        return process

    def do(self, *arguments: str, **environment: str) -> Ended:
        """Run a command to its end, which must be a good one."""
        ended = self.start(*arguments, **environment).wait()
        assert ended.code == 0, f"{arguments} ended with {ended.code}: {ended.err}"
        return ended

    def end(self) -> None:
        for process in self.processes:
            process.end()


def start_command(folder: Path, name: str, *arguments: str, **environment: str) -> Process:
    """An anabranch command in the project of this folder; its output is in files of this name."""
    out, err = (folder / ".anabranch" / f"{name}.{stream}" for stream in ("out", "err"))
    with out.open("wb") as stdout, err.open("wb") as stderr:
        popen = subprocess.Popen(
            [sys.executable, "-m", "anabranch", *arguments],
            cwd=folder,
            env={**os.environ, "ANABRANCH_ACTOR": ON_CALL, **environment},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    return Process(popen, out, err)


def _holds(pieces: Mapping[int, list[tuple[int, int]]], order: Order) -> bool:
    return any(start <= order.offset < end for start, end in pieces.get(order.partition, []))


def _edit(path: Path, changes: Mapping[str, str]) -> None:
    text = path.read_text()
    for former, new in changes.items():
        assert former in text, f"{path.name} does not say {former!r}"
        text = text.replace(former, new, 1)
    path.write_text(text)
