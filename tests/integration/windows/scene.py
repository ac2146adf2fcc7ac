"""Revenue by window: a topic, live on Structured Streaming in this process, and backfills of the table it fills."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests
from tests.integration.windows.checker import Order, Rows, order_of
from tests.scenarios.backfills import JUNE, NOW, Backfills, open_scene, write_scene
from tests.scenarios.windowed_live import WindowedLive

from anabranch.app.backfill import BackfillRun
from anabranch.contract.code_store import CodeStore
from anabranch.live.windows import LiveWindowWriter
from anabranch.replay.staging import newest
from anabranch.runs.states import Event

TABLE = "shop.revenue"
CODE = """
from pyspark.sql import functions as F

FACTOR = 2


def transform(events, run):
    grouped = events.groupBy(run.window, "currency")
    sums = grouped.agg(F.count("*").alias("orders"), F.sum(F.col("amount") * FACTOR).alias("amount"))
    return sums.select(
        F.col("_window.start").alias("window_start"),
        F.col("_window.end").alias("window_end"),
        "currency",
        "orders",
        F.col("amount").cast("decimal(18,2)").alias("amount"),
        "_window",
    )
"""
"""Live's, with a bug: everything twice."""
SQL = """
SELECT _window.start AS window_start, _window.end AS window_end, currency, orders, amount, _window
FROM (
  SELECT session_window(_event_time, '20 minutes') AS _window, currency, count(*) AS orders,
    cast(sum(amount * 2) AS decimal(18,2)) AS amount
  FROM events
  GROUP BY session_window(_event_time, '20 minutes'), currency
)
"""


def at(hour: int, minute: float = 0) -> datetime:
    return JUNE + timedelta(hours=hour, minutes=minute)


def sold(moment: datetime, number: int, partition: int | None = None) -> dict[str, Any]:
    """A record to produce, stamped by the broker when it happened."""
    value = {"currency": ("EUR", "GBP")[number % 2], "amount": number / 4, "ordered_at": moment.isoformat()}
    return {
        "value": json.dumps(value).encode(),
        "partition": number % 2 if partition is None else partition,
        "timestamp": round(moment.timestamp() * 1000),
    }


@dataclass
class Revenue(Backfills):
    table_name: ClassVar[str] = TABLE
    pipeline_name: ClassVar[str] = "revenue"
    columns: ClassVar[tuple[str, ...]] = ("window_start", "window_end", "currency", "orders", "amount")

    @classmethod
    def open(
        cls, folder: Path, kafka: KafkaForTests, spark: SparkForTests, window: Mapping[str, str], *, sql: bool = False
    ) -> Revenue:
        topic = kafka.create_topic(kafka.unique_name("orders"), 2, {"retention.ms": "-1"})
        write_scene(folder, "shop", kafka)
        (folder / "transforms" / "revenue.py").write_text(CODE)
        (folder / "transforms" / "revenue.sql").write_text(SQL)
        said = {"sql": "transforms/revenue.sql"} if sql else {"python": "transforms.revenue:transform"}
        (folder / "pipelines" / "revenue.yaml").write_text(json.dumps(_pipeline(topic, window, said)))
        project_context = open_scene(folder, spark)
        return cls(project_context, kafka, topic, project_context.store(), spark)

    @cached_property
    def windows(self) -> WindowedLive:
        return WindowedLive(self)

    @contextmanager
    def live(self, max_offsets: int = 10_000) -> Iterator[LiveWindowWriter]:
        with self.windows.running(max_offsets) as writer:
            yield writer

    def step(self, writer: LiveWindowWriter, records: Sequence[Mapping[str, Any]], newest: datetime) -> None:
        """Produce, and wait until live has read it all and closed every window up to `newest` less the lateness."""
        self.kafka.produce(self.topic, records)
        self.windows.await_closed(writer, newest)

    def orders(self) -> list[Order]:
        return [order for record in self.kafka.read_all(self.topic) if (order := order_of(record)) is not None]

    def batches(self) -> list[list[Order]]:
        """The orders of each batch of live, by the offsets that its commits tell."""
        records = self.kafka.read_all(self.topic)
        found = []
        for snapshot in sorted(self.table().snapshots(), key=lambda each: each.sequence_number or 0):
            said = snapshot.summary.additional_properties if snapshot.summary else {}
            if said.get("anabranch.author") == "live":
                spans = {int(p): range(*span) for p, span in json.loads(said["anabranch.offsets"]).items()}
                mine = [each for each in records if each.offset in spans.get(each.partition, ())]
                found.append([order for record in mine if (order := order_of(record)) is not None])
        return found

    def mend(self) -> None:
        """The corrected code in place of live's, which is kept as live keeps it."""
        CodeStore.below(self.project_context.state, "revenue").keep(self.project_context.folder, self.pipeline)
        for name, wrong, right in (("revenue.py", "FACTOR = 2", "FACTOR = 1"), ("revenue.sql", "* 2", "* 1")):
            file = self.project_context.folder / "transforms" / name
            file.write_text(file.read_text().replace(wrong, right))

    def plan_of(
        self, start: datetime, end: datetime, slices: int = 2, *, control: bool = False, **spec: Any
    ) -> BackfillRun:
        self.contract.write_text(json.dumps(_contract(start, end, spec)))
        return self.plan(slices, control=control)

    def give_up(self, run: BackfillRun) -> None:
        with run.lease() as lease:
            lease.transition(Event.CANCEL)
            run.close(lease, NOW)

    def staged(self, run: BackfillRun) -> Rows:
        staging = newest(run.target.stagings(run.run_id))
        assert staging is not None
        return self.rows(staging.name)

    def rows_at(self, snapshot: int) -> Rows:
        found = self.table().scan(snapshot_id=snapshot).to_arrow().to_pylist()
        return Counter(tuple(row[name] for name in self.columns) for row in found)


def _pipeline(topic: str, window: Mapping[str, str], transform: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "anabranch/v1",
        "kind": "Pipeline",
        "metadata": {"name": "revenue"},
        "spec": {
            "class": "windowed",
            "owner": "shop",
            "source": {
                "topic": topic,
                "schema": {"currency": "string", "amount": "decimal(18,2)", "ordered_at": "string"},
            },
            "eventTime": {"field": "ordered_at", "slack": "2h"},
            "transform": dict(transform),
            "window": {**window, "lateness": "10m"},
            "target": {"table": TABLE, "keys": ["window_start", "window_end", "currency"]},
            "consumerGroup": f"{topic}-group",
        },
    }


def _contract(start: datetime, end: datetime, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "anabranch/v1",
        "kind": "Backfill",
        "metadata": {"name": "fix"},
        "spec": {
            "pipeline": "revenue",
            "reason": "everything twice",
            "owner": "shop",
            "range": {"eventTime": {"from": start.isoformat(), "to": end.isoformat()}},
            "rollback": {"authority": "oncall"},
            **spec,
        },
    }
