"""A small shop's table with hourly partitions, a base, and staging branches to be validated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tests.fixtures.spark import CATALOG, SparkForTests

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.refs import head_of
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.validate.measures import measure
from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, ordinal
from anabranch.project.model import Surroundings
from anabranch.replay.ledger import Account, SliceAccount
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.validate.report import Report
from anabranch.validate.result import CheckOutcome, Result
from anabranch.validate.verdict import reach_verdict

TEN = datetime(2025, 6, 1, 10, tzinfo=timezone.utc)
AT = datetime(2025, 6, 2, tzinfo=timezone.utc)
AXIS = TimeAxis("ordered_at", Grain.HOUR)
RANGE = PartitionRange(AXIS, ordinal(Grain.HOUR, TEN) + 1, ordinal(Grain.HOUR, TEN) + 3)
COLUMNS = (
    "order_id string not null, ordered_at timestamp, amount decimal(18,2), rate double, note string, "
    "tags map<string,int>, lines array<struct<sku:string,n:int>>"
)
PER_HOUR = 10


@dataclass(frozen=True)
class Order:
    """One event and the row it gives."""

    number: int
    amount: str | None = None
    order_id: str | None = ""
    note: str | None = "as sold"
    hour: int | None = None

    def values(self) -> str:
        hour = self.number // PER_HOUR if self.hour is None else self.hour
        moment = TEN + timedelta(hours=hour, minutes=self.number % PER_HOUR)
        cells = (
            _text(f"o{self.number:03}" if self.order_id == "" else self.order_id),
            f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}'",
            f"CAST({self.amount or f'{self.number}.50'} AS DECIMAL(18,2))",
            "CAST(1.5 AS DOUBLE)",
            _text(self.note),
            "map('a', 1, 'b', 2)",
            "array(named_struct('sku', 'x', 'n', 1))",
        )
        return f"({', '.join(cells)})"


def _text(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"


BASE = [Order(number) for number in range(4 * PER_HOUR)]
"""Hours 10, 11, 12 and 13."""
INSIDE = BASE[PER_HOUR : 3 * PER_HOUR]
"""Hours 11 and 12: the range."""
HALVES = {"s00000": INSIDE[:PER_HOUR], "s00001": INSIDE[PER_HOUR:]}


@dataclass(frozen=True)
class Scene:
    spark: SparkForTests
    table: str
    folder: Path
    base: int
    schema: str
    request: Mapping[str, Any] = field(default_factory=dict)
    """Of the contract's spec, beside what every contract has."""
    keys: Sequence[str] | None = ("order_id",)

    @property
    def full_name(self) -> str:
        return f"{CATALOG}.{self.table}"

    def target(self) -> IcebergTarget:
        return IcebergTarget(self.spark.catalog.open(), self.table)

    def plan(self) -> Plan:
        slices = tuple(Slice(name, _offsets(orders)) for name, orders in HALVES.items())
        source = PlannedSource("shop.orders", "uuid", 1, {0: ((PER_HOUR, 3 * PER_HOUR),)}, {})
        target = PlannedTarget(self.table, head_of(self.base), self.schema, RANGE, RANGE.start, RANGE.end)
        return Plan("orders", "contract", "code", source, target, slices)

    def stage(self, run: str) -> None:
        self.target().make_staging(run, 1, head_of(self.base), RANGE)

    def append(self, run: str, slice_id: str, orders: Sequence[Order], columns: str = "*") -> None:
        """One slice as the replay commits it: rows, offsets and ledger in one commit on the branch."""
        offsets = _offsets(HALVES.get(slice_id, orders))
        width = offsets[0][1] - offsets[0][0]
        account = Account(width, output=len(orders), filtered=width - len(orders), rows=len(orders))
        said = {
            props.RUN: run,
            props.EPOCH: "1",
            props.SLICE: slice_id,
            props.OFFSETS: props.write_offsets(offsets),
            props.LEDGER: json.dumps(SliceLedger(1, {0: account}).document()),
        }
        writer = self.rows(orders).selectExpr(columns).writeTo(f"{self.full_name}.branch_ab_{run}_e1")
        for name, value in said.items():
            writer = writer.option(f"snapshot-property.{name}", value)
        self.spark.session.catalog.refreshTable(self.full_name)
        writer.append()

    def rows(self, orders: Iterable[Order]) -> Any:
        values = ", ".join(order.values() for order in orders)
        names = "order_id, ordered_at, amount, rate, note, tags, lines"
        return self.spark.session.sql(f"SELECT * FROM VALUES {values} AS t({names})")  # noqa: S608

    def replay(self, run: str, slices: Iterable[tuple[str, Sequence[Order]]] = tuple(HALVES.items())) -> None:
        self.stage(run)
        for slice_id, orders in slices:
            self.append(run, slice_id, orders)

    def validate(self, run: str) -> Report:
        branch = f"ab_{run}_e1"
        head = self.target().head(branch)
        assert head is not None
        plan, contract, pipeline = self.plan(), self.contract(), self.pipeline()
        measures = measure(
            self.spark.session,
            CATALOG,
            self.table,
            plan,
            head,
            contract,
            pipeline,
            self.folder,
            schema=schema_digest(self.target().load()),
        )
        staged = self.target().staged_slices(branch, head_of(self.base))
        accounts = [SliceAccount(Slice(each.slice_id, each.offsets), each.ledger.accounts) for each in staged]
        return reach_verdict(measures, plan, contract, pipeline, accounts, run=run, at=AT)

    def contract(self) -> Backfill:
        spec = {
            "pipeline": "orders",
            "range": {"eventTime": {"from": "2025-06-01T11:00:00Z", "to": "2025-06-01T13:00:00Z"}},
            "reason": "a wrong rate",
            "owner": "shop",
            "rollback": {"authority": "shop"},
            **self.request,
        }
        document = {"apiVersion": "anabranch/v1", "kind": "Backfill", "metadata": {"name": "fix"}, "spec": spec}
        return Backfill.model_validate(document, context=Surroundings(self.folder))

    def pipeline(self) -> Pipeline:
        (self.folder / "orders.sql").write_text("SELECT * FROM events")
        spec = {
            "class": "stateless",
            "owner": "shop",
            "source": {"topic": "shop.orders", "schema": {"order_id": "string", "ordered_at": "timestamp"}},
            "eventTime": {"field": "ordered_at"},
            "transform": {"sql": "orders.sql"},
            "target": {"table": self.table, "keys": self.keys},
            "consumerGroup": "shop-orders",
        }
        document = {"apiVersion": "anabranch/v1", "kind": "Pipeline", "metadata": {"name": "orders"}, "spec": spec}
        return Pipeline.model_validate(document, context=Surroundings(self.folder))

    def asking(self, folder: Path | None = None, **spec: Any) -> Scene:
        return replace(self, request=spec, folder=folder or self.folder)


def _offsets(orders: Sequence[Order]) -> dict[int, tuple[int, int]]:
    return {0: (orders[0].number, orders[-1].number + 1)}


def make_scene(spark: SparkForTests, table: str, folder: Path) -> Scene:
    session = spark.session
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{table.split('.')[0]}")
    session.sql(f"CREATE TABLE {CATALOG}.{table} ({COLUMNS}) USING iceberg PARTITIONED BY (hours(ordered_at))")
    scene = Scene(spark, table, folder, 0, "")
    scene.rows(BASE).writeTo(scene.full_name).append()
    loaded = scene.target().load()
    snapshot = loaded.current_snapshot()
    assert snapshot is not None
    return replace(scene, base=snapshot.snapshot_id, schema=schema_digest(loaded))


def outcomes(report: Report) -> dict[str, CheckOutcome]:
    return {result.check: result.outcome for result in report.results}


def not_passed(report: Report) -> dict[str, CheckOutcome]:
    return {name: outcome for name, outcome in outcomes(report).items() if outcome is not CheckOutcome.PASSED}


def result(report: Report, check: str) -> Result:
    [found] = [each for each in report.results if each.check == check]
    return found
