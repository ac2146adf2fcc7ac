"""Revenue by window: a topic, live on Structured Streaming in this process, and backfills of the table it fills."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyiceberg.table import Table
from tests.fixtures.broker import KafkaForTests, eventually
from tests.fixtures.project import ALONE
from tests.fixtures.spark import SparkForTests
from tests.integration.windows.checker import Order, Rows, order_of
from tests.scenarios.shop import Onlooker

from anabranch.adapters.checkpoints.kept import KeptCheckpoints
from anabranch.adapters.checkpoints.log import is_committed
from anabranch.adapters.iceberg.live import last_live_commit
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.topics import describe_topic
from anabranch.adapters.spark.quarantine import Quarantine
from anabranch.adapters.spark.target_table import ensure_target
from anabranch.adapters.spark.transform import load_transform
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.contract.kept_code import CodeStore
from anabranch.contract.load import load_pipelines
from anabranch.contract.pipeline import Pipeline, StateKeeping
from anabranch.contract.reading import reading_digest
from anabranch.live.checkpoint_keeping import CheckpointKeeper
from anabranch.live.pace import Pace
from anabranch.live.progress import BatchDone
from anabranch.live.query import start_query, starting_offsets
from anabranch.live.windows import WindowWriter
from anabranch.plan.slices import offsets_in
from anabranch.project.scaffold import plan_project, write_project
from anabranch.replay.staging import epoch_of
from anabranch.runs.states import Event
from anabranch.validate.report import Report
from anabranch.wiring.backfill import BackfillRun, submit
from anabranch.wiring.planning import plan_backfill
from anabranch.wiring.workplace import Workplace, open_workplace

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
LATENESS = timedelta(minutes=10)
TABLE = "shop.revenue"
COLUMNS = ("window_start", "window_end", "currency", "orders", "amount")
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
class Revenue:
    workplace: Workplace
    store: SqlRunStore
    kafka: KafkaForTests
    spark: SparkForTests
    topic: str
    late: int = 0
    quarantined: int = 0
    fail_after_commit: bool = False
    fail_before_commit: bool = False
    seconds: Iterator[int] = field(default_factory=count)
    said: list[str] = field(default_factory=list)
    hours: Callable[[], float] = field(default_factory=lambda: partial(next, count(NOW.timestamp(), 3600)))
    """Live's clock: an hour later each time it is looked at."""

    @classmethod
    def open(
        cls, folder: Path, kafka: KafkaForTests, spark: SparkForTests, window: Mapping[str, str], *, sql: bool = False
    ) -> Revenue:
        topic = kafka.create_topic(kafka.unique_name("orders"), 2, {"retention.ms": "-1"})
        catalog = f"revenue_{uuid4().hex[:12]}"
        write_project(plan_project(folder, "shop"))
        settings = folder / "anabranch.yaml"
        text = settings.read_text().replace(
            "embedded\n      spark", f"{kafka.bootstrap}\n      {ALONE}\n      spark", 1
        )
        settings.write_text(text.replace("type: embedded", f"type: embedded\n        name: {catalog}", 1))
        (folder / "transforms" / "revenue.py").write_text(CODE)
        (folder / "transforms" / "revenue.sql").write_text(SQL)
        said = {"sql": "transforms/revenue.sql"} if sql else {"python": "transforms.revenue:transform"}
        (folder / "pipelines" / "revenue.yaml").write_text(json.dumps(_pipeline(topic, window, said)))
        workplace = open_workplace(folder, "dev")
        for key, value in workplace.catalog.spark_options().items():
            spark.session.conf.set(key, value)
        workplace.state.mkdir(exist_ok=True)
        return cls(workplace, workplace.store(), kafka, spark, topic)

    # Live.

    @property
    def pipeline(self) -> Pipeline:
        return load_pipelines(self.workplace.loaded)["revenue"].pipeline

    @property
    def checkpoint(self) -> Path:
        return self.workplace.state.resolve() / "checkpoint"

    @contextmanager
    def live(self, max_offsets: int = 10_000) -> Iterator[WindowWriter]:
        """Live while this lasts, stopped at a batch's end."""
        session, pipeline = self.spark.session, self.pipeline
        transform = load_transform(self.workplace.folder, pipeline)
        columns = ensure_target(session, self.workplace.catalog, pipeline, transform)
        Quarantine(self.workplace.catalog, pipeline).prepare(session)
        topic = describe_topic(self.workplace.kafka.client("tests"), self.topic)
        writer = WindowWriter(
            catalog=self.workplace.catalog,
            pipeline=pipeline,
            transform=transform,
            columns=columns,
            topic=topic.uuid,
            checkpoint=self.checkpoint,
            still_same_topic=lambda: self._fail(self.fail_before_commit),
            commit_group=lambda _position: self._fail(self.fail_after_commit),
            report=lambda done, _offsets: self._note(done),
            keep_zones=lambda zones: self.zones.add(MapKey(topic.uuid, reading_digest(pipeline.spec)), zones),
            kafka=self.workplace.kafka,
            keep_checkpoint=CheckpointKeeper(
                self.checkpoint,
                self.kept,
                self.topic,
                topic.uuid,
                "c",
                StateKeeping(every=timedelta(seconds=1)),
                self.said.append,
                self.hours,
            ).after,
        )
        starting = starting_offsets(topic, last_live_commit(self.table(), "revenue"))
        query = start_query(
            session,
            self.workplace.kafka,
            "revenue",
            topic,
            starting,
            self.checkpoint,
            Pace(0.1, max_offsets),
            writer,
            writer.shape,
        )
        try:
            yield writer
            writer.finish()
        finally:
            query.stop()

    def _fail(self, asked: bool) -> None:
        if asked:
            self.fail_before_commit = self.fail_after_commit = False
            raise ConnectionError("pulled the plug")

    def _note(self, done: BatchDone) -> None:
        self.late += done.late
        self.quarantined += done.quarantined

    def step(self, writer: WindowWriter, records: Sequence[Mapping[str, Any]], newest: datetime) -> None:
        """Produce, and wait until live has read it all and closed every window up to `newest` less the lateness."""
        self.kafka.produce(self.topic, records)
        self.await_closed(writer, newest)

    def await_closed(self, writer: WindowWriter, newest: datetime) -> None:
        ends, wanted = self.ends(), str(round((newest - LATENESS).timestamp() * 1000))

        def closed() -> bool:
            assert writer.failure is None, writer.failure
            last = last_live_commit(self.table(), "revenue")
            said = self.table().current_snapshot()
            if last is None or said is None or said.summary is None or last.position != ends:
                return False
            mark = said.summary.additional_properties.get("anabranch.watermark")
            return mark == wanted and is_committed(self.checkpoint, last.batch)

        eventually(closed, 180)

    def ends(self) -> dict[int, int]:
        found: Counter[int] = Counter({0: 0, 1: 0})
        for record in self.kafka.read_all(self.topic):
            found[record.partition] = max(found[record.partition], record.offset + 1)
        return dict(found)

    @property
    def kept(self) -> KeptCheckpoints:
        return KeptCheckpoints.of(self.workplace.state, "revenue")

    # The table, and backfills of it.

    @property
    def zones(self) -> IcebergZones:
        return IcebergZones(self.workplace.catalog.open(), TABLE)

    def table(self) -> Table:
        return self.workplace.catalog.open().load_table(TABLE)

    def rows(self, ref: str = "main") -> Rows:
        return self.rows_at(self.table().metadata.refs[ref].snapshot_id)

    def rows_at(self, snapshot: int) -> Rows:
        found = self.table().scan(snapshot_id=snapshot).to_arrow().to_pylist()
        return Counter(tuple(row[name] for name in COLUMNS) for row in found)

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
        CodeStore.below(self.workplace.state, "revenue").keep(self.workplace.folder, self.pipeline)
        for name, wrong, right in (("revenue.py", "FACTOR = 2", "FACTOR = 1"), ("revenue.sql", "* 2", "* 1")):
            file = self.workplace.folder / "transforms" / name
            file.write_text(file.read_text().replace(wrong, right))

    def plan(
        self, start: datetime, end: datetime, slices: int = 2, *, control: bool = False, **spec: Any
    ) -> BackfillRun:
        contract = self.workplace.folder / "contracts" / "mend.yaml"
        contract.write_text(json.dumps(_contract(start, end, spec)))
        planned = plan_backfill(self.workplace, contract, now=NOW)
        width = offsets_in(planned.plan.source.ranges)
        size = -(-width // slices)
        planned = plan_backfill(self.workplace, contract, now=NOW, offsets_per_slice=size, control=control)
        moment = NOW + next(self.seconds) * timedelta(seconds=1)
        run = submit(self.store, planned.plan, planned.asked.contract, now=moment, actor="ann")
        return self.again(run.id)

    def again(self, run_id: str) -> BackfillRun:
        """The run in hand of another process."""
        found = BackfillRun(open_workplace(self.workplace.folder, "dev"), self.store, run_id)
        found.__dict__["_spark"] = self.spark.session
        return found

    def give_up(self, run: BackfillRun) -> None:
        with run.hold() as hold:
            hold.move(Event.CANCEL)
            run.close(hold)

    def staged(self, run: BackfillRun) -> Rows:
        return self.rows(max(run.target.branches(run.run_id), key=epoch_of))

    def apply(self, run: BackfillRun) -> Report:
        with run.hold() as hold:
            run.replay(hold, Onlooker())
            return run.validate(hold, NOW)

    def promote(self, run: BackfillRun) -> int:
        with run.hold() as hold:
            return run.promote(hold, Onlooker(), NOW)

    def close(self, run: BackfillRun) -> None:
        with run.hold() as hold:
            run.close(hold)

    def roll_back(self, run: BackfillRun) -> int:
        with run.hold() as hold:
            return run.roll_back(hold)


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
        "metadata": {"name": "mend"},
        "spec": {
            "pipeline": "revenue",
            "reason": "everything twice",
            "owner": "shop",
            "range": {"eventTime": {"from": start.isoformat(), "to": end.isoformat()}},
            "rollback": {"authority": "oncall"},
            **spec,
        },
    }
