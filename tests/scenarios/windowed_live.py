"""Live with windows on Structured Streaming, in this process: run for a while, until the windows wanted are closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.log import is_committed
from anabranch.adapters.iceberg.live import LiveCommit, last_live_commit
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.topics import describe_topic
from anabranch.adapters.spark.transform.load import load_transform
from anabranch.adapters.spark.write.quarantine import QuarantineTable
from anabranch.adapters.spark.write.target_table import ensure_target
from anabranch.contract.code import reading_digest
from anabranch.contract.code_store import CodeStore
from anabranch.contract.pipeline import StateKeeping
from anabranch.live.pace import LivePace
from anabranch.live.progress import BatchDone
from anabranch.live.query import start_query, starting_offsets
from anabranch.live.start_states import CheckpointKeeper
from anabranch.live.windows import LiveWindowWriter
from tests.fixtures.broker import eventually
from tests.scenarios.backfills import NOW, Backfills

LATENESS = timedelta(minutes=10)
PATIENCE = 180


@dataclass
class WindowedLive:
    scene: Backfills
    late: int = 0
    quarantined: int = 0
    query: StreamingQuery | None = None
    said: list[str] = field(default_factory=list)
    hours: Callable[[], float] = field(default_factory=lambda: partial(next, count(NOW.timestamp(), 3600)))
    """Live's clock: an hour later each time it is looked at."""

    @property
    def kept(self) -> CheckpointStore:
        return CheckpointStore.of(self.scene.project_context.state, self.scene.pipeline_name)

    @property
    def checkpoint(self) -> Path:
        return self.scene.project_context.state.resolve() / "checkpoint"

    @contextmanager
    def running(self, max_offsets: int = 10_000) -> Iterator[LiveWindowWriter]:
        """Live while this lasts, stopped at a batch's end."""
        scene = self.scene
        session, pipeline, catalog = scene.spark.session, scene.pipeline, scene.project_context.catalog
        transform = load_transform(scene.project_context.folder, pipeline)
        CodeStore.below(scene.project_context.state, scene.pipeline_name).keep(scene.project_context.folder, pipeline)
        columns = ensure_target(session, catalog, pipeline, transform)
        QuarantineTable(catalog, pipeline).prepare(session)
        topic = describe_topic(scene.project_context.kafka.client("tests"), scene.topic)
        zones, key = IcebergZones(catalog.open(), scene.table_name), MapKey(topic.uuid, reading_digest(pipeline.spec))
        writer = LiveWindowWriter(
            catalog=catalog,
            pipeline=pipeline,
            transform=transform,
            columns=columns,
            topic=topic.uuid,
            checkpoint=self.checkpoint,
            still_same_topic=lambda: None,
            commit_group=lambda _position: None,
            report=lambda done, _offsets: self._note(done),
            keep_zones=lambda counted: zones.add(key, counted),
            kafka=scene.project_context.kafka,
            keep_checkpoint=self._keeper(topic.uuid).after,
        )

        def write(batch: DataFrame, number: int) -> None:
            try:
                writer(batch, number)
            except BaseException as error:
                # A test's end of a process is no Exception, and Py4J would leave the JVM without an answer.
                raise RuntimeError("live has ended") from error

        starting = starting_offsets(topic, self.last())
        kafka, pace = scene.project_context.kafka, LivePace(0.1, max_offsets)
        name = scene.pipeline_name
        self.query = query = start_query(
            session, kafka, name, topic, starting, self.checkpoint, pace, write, writer.shape
        )
        try:
            yield writer
            writer.finish()
        finally:
            query.stop()

    def await_closed(self, writer: LiveWindowWriter, newest: datetime) -> None:
        """Until all is read, and every window up to `newest` less the lateness is in the table.

        What ends live ends this too.
        """
        ends, wanted = self.scene.ends(), str(round((newest - LATENESS).timestamp() * 1000))

        def closed() -> bool:
            if writer.failure is not None:
                raise writer.failure
            assert self.query is not None
            assert self.query.isActive, self.query.exception()
            last, said = self.last(), self.scene.table().current_snapshot()
            if last is None or said is None or said.summary is None or last.position != ends:
                return False
            mark = said.summary.additional_properties.get("anabranch.watermark")
            return mark == wanted and is_committed(self.checkpoint, last.batch)

        eventually(closed, PATIENCE)

    def last(self) -> LiveCommit | None:
        return last_live_commit(self.scene.table(), self.scene.pipeline_name)

    def _keeper(self, uuid: str) -> CheckpointKeeper:
        every = StateKeeping(every=timedelta(seconds=1))
        topic = self.scene.topic
        return CheckpointKeeper(self.checkpoint, self.kept, topic, uuid, "c", every, self.said.append, self.hours)

    def _note(self, done: BatchDone) -> None:
        self.late += done.late
        self.quarantined += done.quarantined
