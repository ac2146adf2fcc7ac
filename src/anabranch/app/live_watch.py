"""Watches live from outside while something else goes on: where it stands and where its log ends, twice a second."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Lock, Thread

from anabranch.adapters.iceberg.facts import live_history
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.groups import committed
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError
from anabranch.readiness.live_samples import Sample

CLIENT_ID = "anabranch-rehearsal"
EVERY_SECONDS = 0.5


class LiveWatch:
    """Reads only. Live is neither stopped nor slowed by it; whether a replay reads meanwhile is said by `replaying`."""

    def __init__(self, project_context: ProjectContext, pipeline: Pipeline) -> None:
        self._workplace, self._pipeline = project_context, pipeline
        self._client = project_context.kafka.client(CLIENT_ID)
        self._topic = describe_topic(self._client, pipeline.spec.source.topic)
        self._looking = Lock()
        self._replaying = False
        self._failed: AnabranchError | None = None
        self.samples: list[Sample] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        stop = Event()
        watcher = Thread(target=self._watch, args=(stop,), daemon=True, name="live-watch")
        self._look()
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()
        if self._failed is not None:
            raise self._failed
        self._look()

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """A look is taken at its end: it may be over before the next one is due."""
        self._replaying = True
        try:
            yield
            self._look()
        finally:
            self._replaying = False

    def _watch(self, stop: Event) -> None:
        while not stop.wait(EVERY_SECONDS):
            try:
                self._look()
            except AnabranchError as error:
                self._failed = error  # told when watching ends: what was not seen must not be taken for good
                return

    def _look(self) -> None:
        with self._looking:  # two looks at once could come to be out of order
            replaying = self._replaying
            ends = {p: end for p, (_, end) in offset_ranges(self._client, self._topic).items()}
            position = self._position()
            self.samples.append(Sample(time.monotonic(), ends, position, replaying))

    def _position(self) -> Mapping[int, int] | None:
        """By the consumer group, or where that has nothing by live's own commits."""
        spec = self._pipeline.spec
        found = committed(self._client, spec.consumer_group, self._topic.name)
        if found:
            return found
        table = IcebergTarget(self._workplace.catalog.open(), spec.target.table).load()
        return dict(live_history(table, table.current_snapshot(), self._pipeline.metadata.name).ends) or None
