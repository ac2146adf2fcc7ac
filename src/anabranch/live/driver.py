"""Runs live for one pipeline until it is stopped or fails, and records which."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import psutil

from anabranch.adapters.checkpoints.checkpoint_store import CheckpointStore
from anabranch.adapters.checkpoints.log import is_committed
from anabranch.adapters.iceberg.live import LiveCommit, last_live_commit
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.groups import GroupProgress
from anabranch.adapters.kafka.topics import Topic, density_of
from anabranch.adapters.processes import process_of
from anabranch.adapters.spark.session.jvm import jvm_death_reported
from anabranch.adapters.spark.session.session import stop_spark
from anabranch.adapters.spark.transform.load import LoadedTransform, load_transform, moving, ship
from anabranch.adapters.spark.transform.lookups import HeadLookupTables
from anabranch.adapters.spark.write.quarantine import QuarantineTable
from anabranch.adapters.spark.write.target_table import ensure_target
from anabranch.app.project_context import ProjectContext
from anabranch.app.services import service_probes
from anabranch.contract.code import code_digest, reading_digest
from anabranch.contract.code_store import CodeStore
from anabranch.contract.load import LoadedPipeline
from anabranch.errors import AnabranchError
from anabranch.live.batch import BatchWriter
from anabranch.live.errors import CONTINUES, StreamFailedError, in_one_line
from anabranch.live.layout import LiveLayout
from anabranch.live.lock import only_driver
from anabranch.live.pace import LivePace, client_id
from anabranch.live.progress import ProgressKeeper
from anabranch.live.query import start_query, starting_offsets
from anabranch.live.record import DriverPhase, DriverRecord, save_record
from anabranch.live.start_states import CheckpointKeeper
from anabranch.live.topic import same_topic
from anabranch.live.windows import LiveWindowWriter, require_state
from anabranch.live.zones import ZoneKeeper
from anabranch.replay.outages import Notice, Silent, words_of
from anabranch.replay.service_watch import ServiceWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOCK_SECONDS = 60.0
POLL_SECONDS = 0.1
COMMIT_LOG_SECONDS = 5.0


@dataclass
class Driver:
    project_context: ProjectContext
    loaded: LoadedPipeline
    pace: LivePace
    stop: Event
    say: Callable[[str], None]
    ready: Callable[[], None] = lambda: None
    """Called after Spark has started, before the query starts."""
    session: SparkSession | None = None
    """A shared session, which the driver does not stop; None to start its own."""
    _record: DriverRecord = field(init=False)
    _record_lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        self.layout = LiveLayout(self.project_context.state.resolve(), self.loaded.name)
        self._record = DriverRecord(process_of(psutil.Process()), DriverPhase.STARTING)

    def run(self) -> None:
        with only_driver(self.layout.lock, LOCK_SECONDS) as lock:
            self._update_record(DriverPhase.STARTING)
            try:
                self._serve(lock)
            except AnabranchError as error:
                self._update_record(DriverPhase.FAILED, error=error.as_dict())
                raise
            except Exception as error:
                failed = self._failure(error)
                self._update_record(DriverPhase.FAILED, error=failed.as_dict())
                raise failed from error
            self._update_record(DriverPhase.STOPPED)

    def _serve(self, lock: int) -> None:
        self.say(f"live {self.loaded.name}: process {os.getpid()}, {self.pace}")
        pipeline = self.loaded.pipeline
        topic = self._same_topic()
        transform = load_transform(
            self.project_context.folder, pipeline, HeadLookupTables.of(self.project_context.catalog, pipeline)
        )
        self._keep_code(transform)
        session = self.session or self.project_context.spark(client_id(self.loaded.name), inherit=(lock,))
        self.ready()
        restart = f"anabranch live start {self.loaded.name}"
        try:
            with (
                jvm_death_reported(CONTINUES, restart),
                self._watching_services(),
                GroupProgress(self._client, pipeline.spec.consumer_group, topic.name) as group,
            ):
                keeper = ProgressKeeper(self.layout.progress, group.commit, self.say, self.pace.interval_seconds)
                keeper.begin()
                zones = self._zones(topic)
                writer = self._writer(session, transform, topic, keeper, zones)
                query = self._start(session, topic, writer)
                self._update_record(DriverPhase.RUNNING, code=transform.digest, query=str(query.id))
                self._watch(query, writer)
                zones.flush()
        finally:
            if self.session is None:
                stop_spark(session)

    def _watching_services(self) -> ServiceWatch:
        """Logs and records services that do not answer. Live waits without a limit."""
        name = self.loaded.name
        waits = (
            "Live waits. If Spark gives up first, live ends with an error, and "
            f"`anabranch live start {name}` continues after the last committed batch"
        )

        def report(notice: Notice) -> None:
            self.say(words_of(notice, waits))
            silence = notice.silence
            others = {service: since for service, since in self._record.silent.items() if service != silence.service}
            now = {silence.service: silence.since.isoformat()} if isinstance(notice, Silent) else {}
            self._update_record(silent={**others, **now})

        probes = service_probes(self.project_context, client_id(name), self.loaded.pipeline.spec.target.table)
        return ServiceWatch(probes, None, report)

    def _keep_code(self, transform: LoadedTransform) -> None:
        """Store the transform's files before the first batch: after a correction this is the only copy of live's
        code."""
        pipeline = self.loaded.pipeline
        stored = CodeStore.below(self.project_context.state, self.loaded.name).keep(
            self.project_context.folder, pipeline
        )
        if stored != transform.digest:
            raise moving(pipeline)

    def _zones(self, topic: Topic) -> ZoneKeeper:
        spec = self.loaded.pipeline.spec
        table = IcebergZones(self.project_context.catalog.open(), spec.target.table)
        key = MapKey(topic.uuid, reading_digest(spec))
        return ZoneKeeper(lambda zones: table.add(key, zones), self.say)

    def _writer(
        self, session: SparkSession, transform: LoadedTransform, topic: Topic, keeper: ProgressKeeper, zones: ZoneKeeper
    ) -> BatchWriter:
        pipeline, catalog = self.loaded.pipeline, self.project_context.catalog
        ship(session, transform, pipeline)
        columns = ensure_target(session, catalog, pipeline, transform, lambda: density_of(self._client, topic))
        QuarantineTable(catalog, pipeline).prepare(session)
        return self._writer_class()(
            catalog=catalog,
            pipeline=pipeline,
            transform=transform,
            columns=columns,
            topic=topic.uuid,
            checkpoint=self.layout.checkpoint,
            still_same_topic=self._same_topic,
            commit_group=keeper.commit_group,
            report=keeper.report,
            keep_zones=zones.keep,
        )

    def _writer_class(self) -> Callable[..., BatchWriter]:
        if self.loaded.pipeline.spec.window is None:
            return BatchWriter
        return partial(LiveWindowWriter, kafka=self.project_context.kafka, keep_checkpoint=self._keeper().after)

    def _keeper(self) -> CheckpointKeeper:
        spec = self.loaded.pipeline.spec
        return CheckpointKeeper(
            self.layout.checkpoint,
            CheckpointStore.of(self.project_context.state, self.loaded.name),
            spec.source.topic,
            self._same_topic().uuid,
            code_digest(self.project_context.folder, self.loaded.pipeline),
            spec.state,
            self.say,
        )

    def _start(self, session: SparkSession, topic: Topic, writer: BatchWriter) -> StreamingQuery:
        checkpoint, last = self.layout.checkpoint, self._last_commit()
        if self.loaded.pipeline.spec.window is not None:
            require_state(self.loaded.name, checkpoint, topic, last)
        starting = starting_offsets(topic, last)
        kafka, name = self.project_context.kafka, self.loaded.name
        query = start_query(session, kafka, name, topic, starting, checkpoint, self.pace, writer, writer.shape)
        self.say(f"query {query.id} reads {topic.name}; a new checkpoint would start at {starting}")
        return query

    def _watch(self, query: StreamingQuery, writer: BatchWriter) -> None:
        while query.isActive and not self.stop.wait(POLL_SECONDS):
            continue
        if not query.isActive:
            raise writer.failure or self._stream_failure(query)
        self.say("stop requested: finishing the current batch")
        writer.finish()
        self._await_commit_log(writer)
        query.stop()
        self.say(f"stopped after batch {writer.last}")

    def _await_commit_log(self, writer: BatchWriter) -> None:
        """Wait for Spark to commit the batch. Without that, the next start only looks it up again."""
        deadline = time.monotonic() + COMMIT_LOG_SECONDS
        while writer.last is not None and not is_committed(self.layout.checkpoint, writer.last):
            if time.monotonic() > deadline:
                return
            time.sleep(POLL_SECONDS)

    def _stream_failure(self, query: StreamingQuery) -> Exception:
        """Why the query ended. A recreated topic often appears as data loss, so that is checked first."""
        self._same_topic()
        return query.exception() or RuntimeError("the query ended without an error")

    def _failure(self, error: Exception) -> StreamFailedError:
        return StreamFailedError(
            f"Live ended: {in_one_line(error)}",
            state=CONTINUES,
            command=f"anabranch live start {self.loaded.name}",
            hint=f"Fix the error that {self.layout.log} reports, then start live again",
        )

    def _last_commit(self) -> LiveCommit | None:
        table = self.project_context.catalog.open().load_table(self.loaded.pipeline.spec.target.table)
        return last_live_commit(table, self.loaded.name)

    def _same_topic(self) -> Topic:
        return same_topic(self._client, self.loaded.pipeline.spec.source.topic, self.layout.topic)

    @property
    def _client(self) -> Mapping[str, str]:
        return self.project_context.kafka.client(client_id(self.loaded.name))

    def _update_record(self, phase: DriverPhase | None = None, **more: Any) -> None:
        """Thread-safe: called by the driver and by the service watch."""
        with self._record_lock:
            self._record = replace(self._record, phase=phase or self._record.phase, **more)
            save_record(self.layout.record, self._record)
