"""A shop's table with hourly partitions, a run staged on it, and live writers beside it: no Spark, real commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import cached_property
from itertools import count
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import HourTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.adapters.iceberg.files import time_axis
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import PartitionRange, widen
from anabranch.promote.promotion import ApprovalNotRequired, ApprovedRun, Promotion
from anabranch.promote.rollback import Rollback
from anabranch.replay.staging import take_staging
from anabranch.runs.heads import Head
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun
from anabranch.runs.run_lease import RunLease, acquire_run_lease
from anabranch.runs.states import Event
from anabranch.validate.accepted import AcceptedRun

TABLE = "shop.orders"
DAY = datetime(2025, 6, 1, tzinfo=timezone.utc)
FIXED, BUGGY = "fixed-code", "buggy-code"
SCHEMA = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "at", TimestamptzType()), NestedField(3, "by", StringType())
)

Rows = Counter[tuple[int, int, str]]
"""A multiset of (id, hour, by): what the checker compares."""


@dataclass
class Shop:
    """Range: hours 2 and 3. Former rows are `former`, staged rows `staged`, live's rows `live`."""

    state: Path
    lake: IcebergCatalog
    store: SqlRunStore
    run_id: str = "run1"
    partitions: PartitionRange = field(init=False)
    plan: Plan = field(init=False)
    numbers: Iterator[int] = field(default_factory=lambda: count(10_000))
    opened: list[Catalog] = field(default_factory=list)

    def __post_init__(self) -> None:
        catalog = self._open()
        catalog.create_namespace("shop")
        spec = PartitionSpec(PartitionField(2, 1000, HourTransform(), "at_hour"))
        # Live tries until it gets through, as Spark does; three writers and a promoter give it reason to.
        patient = {"commit.retry.num-retries": "50", "commit.retry.max-wait-ms": "200"}
        catalog.create_table(TABLE, SCHEMA, partition_spec=spec, properties=patient)
        for hour in range(6):
            self.write(hour, range(hour * 10, hour * 10 + 5), "former")
        self.partitions = widen(
            time_axis(self.target.load()), DAY + timedelta(hours=2, minutes=10), DAY + timedelta(hours=3, minutes=50)
        )
        base = self.target.head()
        assert base is not None
        self.plan = Plan(
            pipeline="orders",
            contract="c" * 64,
            code=FIXED,
            source=PlannedSource("orders", "uuid", 1, {0: ((0, 100),)}, {0: 100}),
            target=PlannedTarget(TABLE, base, "schema", self.partitions, None, None),
            slices=(Slice("s00000", {0: (0, 100)}),),
        )

    @property
    def target(self) -> IcebergTarget:
        """A fresh client each time, as another process would have."""
        return IcebergTarget(self._open(), TABLE)

    def catalog_table(self) -> Table:
        return self._open().load_table(TABLE)

    def _open(self) -> Catalog:
        self.opened.append(self.lake.open())
        return self.opened[-1]

    def close(self) -> None:
        self.store.close()
        for each in self.opened:
            each.close()

    def write(self, hour: int, ids: range | list[int], by: str, **options: object) -> None:
        at = DAY + timedelta(hours=hour, minutes=5)
        rows = pa.table({"id": list(ids), "at": [at] * len(ids), "by": [by] * len(ids)}, schema=SCHEMA.as_arrow())
        self.catalog_table().append(rows, **options)  # type: ignore[arg-type]

    def live(self, hour: int, *, code: str = FIXED) -> tuple[int, int, str]:
        """One live commit of one row, with the offset it holds."""
        number = next(self.numbers)
        said = {props.AUTHOR: "live", props.CODE: code, props.OFFSETS: f'{{"0":[{number},{number + 1}]}}'}
        self.write(hour, [number], "live", snapshot_properties=said)
        return (number, hour, "live")

    def rows(self, ref: str = "main") -> Rows:
        found = self.target.load().scan().use_ref(ref).to_arrow().to_pylist()
        return Counter((row["id"], (row["at"] - DAY) // timedelta(hours=1), row["by"]) for row in found)

    def submit_validated(self) -> None:
        """Take the run to where promotion may be asked for, with two staged rows for each hour of the range."""
        start, end = self.partitions.start, self.partitions.end
        new = NewRun(
            self.run_id,
            "orders",
            TargetRange(TABLE, start, end),
            "c" * 64,
            self.plan.hash,
            "ann",
            {},
            self.plan.document(),
        )
        self.store.writer.submit(new, actor="ann")
        with self.lease() as lease:
            staging = take_staging(lease, self.plan, self.target)
            for hour in (2, 3):
                self.write(hour, [hour * 100, hour * 100 + 1], "staged", branch=staging.name)
            for event in (Event.START, Event.STAGE, Event.ACCEPT):
                lease.transition(event)

    @contextmanager
    def lease(self, holder: str = "driver") -> Iterator[RunLease]:
        with acquire_run_lease(self.store, self.run_id, holder=holder, actor="ann") as lease:
            yield lease

    def promote(self) -> Head:
        with self.lease() as lease:
            return self.promotion(lease)()

    @cached_property
    def promoter(self) -> IcebergTarget:
        """The client of whoever promotes, who remembers the commits it has read."""
        return self.target

    def promotion(self, lease: RunLease) -> Promotion:
        staging = take_staging(lease, self.plan, self.promoter)
        approved = ApprovedRun(AcceptedRun(self.plan, staging.head), ApprovalNotRequired("tests"))
        return Promotion(lease, self.promoter, approved, staging, frozenset())

    def roll_back(self) -> Head:
        with self.lease() as lease:
            return self.rollback(lease)()

    def rollback(self, lease: RunLease) -> Rollback:
        return Rollback(lease, self.target, take_staging(lease, self.plan, self.target))


def former(*hours: int) -> Rows:
    return Counter((hour * 10 + n, hour, "former") for hour in hours for n in range(5))


STAGED: Rows = Counter((hour * 100 + n, hour, "staged") for hour in (2, 3) for n in (0, 1))


def open_shop(state: Path) -> Shop:
    state.mkdir(parents=True, exist_ok=True)
    embedded = EmbeddedCatalog.below(state)
    embedded.create()
    return Shop(state, embedded.catalog("lake"), open_store(f"sqlite:///{state / 'anabranch.db'}"))
