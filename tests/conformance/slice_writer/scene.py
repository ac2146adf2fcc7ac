"""One plan for all writers of a kind, a staging branch for each, and by plain Python what a slice must come to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from confluent_kafka import Producer
from tests.conformance.classes.kinds import Rows
from tests.conformance.classes.scene import RIGHT, WRONG, Scene
from tests.conformance.slice_writer.writers import WriterCase
from tests.fixtures.broker import QUIET, Record, eventually
from tests.scenarios.backfills import JUNE, SECONDS

from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.app.slice_writers import slice_job
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceWriter
from anabranch.replay.staging import StagedSlice, Staging

EPOCH = 1
BAD = (b"not json", b'{"account":"a1","amount":"many","at":"2025-06-01T01:30:00Z"}', b'{"account":"a1","amount":1}')


class Records(Scene):
    """A scene whose topic has bad records and an aborted transaction too."""

    def records(self) -> list[Record]:
        """The good ones and the tombstones."""
        return [record for record in super().records() if record.value not in BAD]

    def bad(self) -> Counter[tuple[int, int, bytes | None]]:
        return Counter((r.partition, r.offset, r.value) for r in super().records() if r.value in BAD)

    def produce_bad(self) -> None:
        stamp = round(JUNE.timestamp() * 1000)
        records = [{"key": b"a1", "value": value, "partition": 1, "timestamp": stamp} for value in BAD]
        self.kafka.produce(self.topic, records)

    def abort(self, hour: int) -> None:
        """Records that nobody may read, and the marker that says so."""
        name = self.kafka.unique_name("tx")
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap, "transactional.id": name, **QUIET})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        at = JUNE.replace(hour=hour).isoformat()
        for _ in range(5):
            event = json.dumps({"account": "a0", "amount": 1, "at": at}).encode()
            producer.produce(self.topic, key=b"a0", value=event, partition=0)
        producer.flush()
        producer.abort_transaction(SECONDS)
        # The broker answers before it has written the marker, and until then hides what comes after.
        eventually(lambda: self.ends() == self.ends("read_uncommitted"))

    def damage(self) -> None:
        """A first hour that is right, and two that are wrong; more where the table is behind the topic."""
        self.produce(0, 40, seed=0)
        self.live()
        self.use(WRONG)
        self.produce(1, 40, seed=1)
        self.abort(1)
        self.produce_bad()
        self.live()
        for hour in range(2, 3 + self.kind.behind):
            self.produce(hour, 40, seed=hour)
        self.live()
        self.use(RIGHT)


@dataclass
class Bench:
    """A damaged scene and its plan."""

    scene: Records
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1000)))

    @cached_property
    def plan(self) -> Plan:
        return self.scene.planned(2).plan

    @property
    def target(self) -> IcebergTarget:
        return IcebergTarget(self.scene.project_context.catalog.open(), self.plan.target.table)

    @contextmanager
    def staged(self, case: WriterCase) -> Iterator[Written]:
        """A staging branch of its own, and the writer with whom to fill it."""
        name = f"{case.name}-{next(self.numbers)}"
        self.target.make_staging(name, EPOCH, self.plan.staging_base, self.plan.replaced_range)
        [place] = self.target.stagings(name)
        state = None if self.plan.state is None else self.plan.state.snapshot
        staging = Staging(name, EPOCH, place.name, place.head, self.plan.target.partitions, state)
        scene = self.scene
        job = slice_job(scene.spark.session, scene.project_context, self.plan, scene.pipeline, name)
        writer = case.compose(job)
        assert isinstance(writer, case.made)
        try:
            yield Written(self, job, writer, staging)
        finally:
            writer.discard_prefetched()
            self.target.remove_refs(name)


@dataclass
class Written:
    bench: Bench
    job: SliceJob
    writer: SliceWriter
    staging: Staging

    def write(self, *slices: Slice) -> None:
        for slice_ in slices or self.bench.plan.slices:
            self.writer.write(slice_, self.staging)

    def rows(self) -> Rows:
        return self.bench.scene.rows(self.staging.name)

    def slices(self) -> list[StagedSlice]:
        staged = self.bench.target.staged_slices(self.staging.name, self.bench.plan.staging_base)
        return sorted(staged, key=lambda each: each.slice_id)

    def ledgers(self) -> dict[str, dict[str, Any]]:
        return {each.slice_id: each.ledger.document() for each in self.slices()}

    def quarantined(self) -> Counter[tuple[int, int, bytes | None]]:
        scene = self.bench.scene
        tables, name = scene.project_context.catalog.open(), f"{scene.table_name}__quarantine"
        found = tables.load_table(name).scan().to_arrow().to_pylist() if tables.table_exists(name) else []
        mine = (row for row in found if row["run"] == self.job.run_id)
        return Counter((row["partition"], row["offset"], row["value"]) for row in mine)

    def orphans(self) -> set[str]:
        """Data files in the table's folder that no snapshot has."""
        table = self.bench.scene.table()
        known = {Path(unquote(urlsplit(each).path)).name for each in table.inspect.all_files()["file_path"].to_pylist()}
        folder = Path(unquote(urlsplit(table.location()).path))
        return {file.name for file in folder.rglob("*.parquet")} - known
