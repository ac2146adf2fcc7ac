"""What every scene of backfills shares: a project on the test run's broker and session, and runs driven in-process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from pyiceberg.table import Table

from anabranch.adapters.spark.source.read_meter import ReadMeter
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.backfill import BackfillRun
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.contract.load import load_pipelines
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.planner import Planned
from anabranch.plan.slices import Slice, offsets_in
from anabranch.plan.submission import submit
from anabranch.project.scaffold import plan_project, write_project
from anabranch.replay.replayer import SliceDone, SliceProgress
from anabranch.runs.heads import Head
from anabranch.validate.report import Report
from tests.fixtures.broker import QUIET, KafkaForTests
from tests.fixtures.project import ALONE
from tests.fixtures.spark import SparkForTests

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
SECONDS = 30


@dataclass
class Onlooker:
    """Watches a replay, and may do something after a slice."""

    after_slice: Callable[[str], object] = lambda _: None
    seen: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None:
        self.seen.append(slice_.id)
        self.after_slice(slice_.id)

    def phase(self, words: str) -> None: ...

    def remaining(self, slices: Sequence[Slice]) -> None: ...

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None: ...

    def resting(self, seconds: float, reason: str) -> None: ...

    def notice(self, words: str) -> None:
        self.notices.append(words)

    def interrupted(self) -> bool:
        return False


def write_scene(folder: Path, name: str, kafka: KafkaForTests, approval: str = ALONE) -> None:
    """A project from the template on the test run's broker, with a catalog of its own."""
    write_project(plan_project(folder, name))
    catalog = f"{name}_{uuid4().hex[:12]}"  # the session keeps a catalog by its name for as long as it lives
    edit(folder / "anabranch.yaml", {"embedded\n      spark": f"{kafka.bootstrap}\n      {approval}\n      spark"})
    edit(folder / "anabranch.yaml", {"type: embedded": f"type: embedded\n        name: {catalog}"})


def open_scene(folder: Path, spark: SparkForTests | None = None) -> ProjectContext:
    """The project, whose catalog the session knows from now on."""
    project_context = open_project(folder, "dev")
    if spark is None:
        return project_context
    for key, value in project_context.catalog.spark_options().items():
        spark.session.conf.set(key, value)
    return project_context


def edit(file: Path, changes: Mapping[str, str]) -> None:
    text = file.read_text()
    for old, new in changes.items():
        assert old in text, f"{file.name} has no {old!r}"
        text = text.replace(old, new, 1)
    file.write_text(text)


@dataclass
class Flow:
    """A topic, a pipeline and its table."""

    table_name: ClassVar[str]
    pipeline_name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    project_context: ProjectContext
    kafka: KafkaForTests
    topic: str

    @property
    def pipeline(self) -> Pipeline:
        return load_pipelines(self.project_context.loaded)[self.pipeline_name].pipeline

    def ends(self, isolation: str = "read_committed") -> dict[int, int]:
        """Where each partition ends."""
        from confluent_kafka import Consumer, TopicPartition

        client = {"bootstrap.servers": self.kafka.bootstrap, "group.id": "test-ends", **QUIET}
        consumer = Consumer({**client, "isolation.level": isolation})
        try:
            numbers = consumer.list_topics(self.topic, timeout=SECONDS).topics[self.topic].partitions
            request = [TopicPartition(self.topic, number) for number in numbers]
            return {tp.partition: consumer.get_watermark_offsets(tp, timeout=SECONDS)[1] for tp in request}
        finally:
            consumer.close()

    def table(self) -> Table:
        return self.project_context.catalog.open().load_table(self.table_name)

    def rows(self, ref: str = "main") -> Counter[tuple[Any, ...]]:
        found = self.table().scan().use_ref(ref).to_arrow().to_pylist()
        return Counter(tuple(row[name] for name in self.columns) for row in found)


@dataclass
class Backfills(Flow):
    """The runs of the contract `fix.yaml`, on the shared session."""

    store: SqlRunStore
    spark: SparkForTests
    seconds: Iterator[int] = field(default_factory=count, kw_only=True)

    @property
    def contract(self) -> Path:
        return self.project_context.folder / "contracts" / "fix.yaml"

    def plan(self, slices: int = 3, store: SqlRunStore | None = None, *, control: bool = False) -> BackfillRun:
        """A run of its own, also of a plan that was made before."""
        planned = self.planned(slices, control=control)
        store, moment = store or self.store, NOW + next(self.seconds) * timedelta(seconds=1)
        run = submit(store.writer, planned.plan, planned.request.contract, now=moment, actor="ann")
        return self.again(run.id, store)

    def planned(self, slices: int, *, control: bool = False) -> Planned:
        width = offsets_in(plan_backfill(self.project_context, self.contract, now=NOW).plan.source.ranges)
        size = -(-width // slices)
        return plan_backfill(self.project_context, self.contract, now=NOW, offsets_per_slice=size, control=control)

    def again(self, run_id: str, store: SqlRunStore | None = None) -> BackfillRun:
        """The run as another process would take it in hand."""
        run = BackfillRun(open_project(self.project_context.folder, "dev"), store or self.store, run_id)
        run.__dict__["_spark"] = self.spark.session
        return run

    def apply(self, run: BackfillRun, watch: Onlooker | None = None) -> Report:
        with run.lease() as lease:
            run.replay(lease, watch or Onlooker())
            return run.validate(lease, NOW).report

    def metered(self, run: BackfillRun) -> tuple[int, int]:
        """Bytes that the run's client has read through its meter, and those that its staged slices have booked."""
        with run.lease() as lease:
            booked = sum(each.ledger.bytes for each in run.staged(run.staging(lease)))
        return ReadMeter(self.spark.session, f"{REPLAY_PREFIX}-{run.run_id}").bytes, booked

    def promote(self, run: BackfillRun, watch: Onlooker | None = None) -> Head:
        with run.lease() as lease:
            return run.promote(lease, watch or Onlooker(), NOW)

    def roll_back(self, run: BackfillRun) -> Head:
        with run.lease() as lease:
            return run.roll_back(lease, "the test is not whom the contract names")

    def close(self, run: BackfillRun) -> Mapping[str, object]:
        with run.lease() as lease:
            return run.close(lease, datetime.now(timezone.utc), forfeit="the test is over")
