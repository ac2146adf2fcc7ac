"""Reads log ends and the positions of live's consumer groups, for metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from anabranch.adapters.kafka.live_offsets import LiveOffsetReader
from anabranch.app.project_context import ProjectContext
from anabranch.errors import AnabranchError
from anabranch.monitoring.live_samples import KafkaReading, topic_readings

if TYPE_CHECKING:
    from anabranch.contract.pipeline import Pipeline

CLIENT_ID = "anabranch-metrics"
SECONDS = 5.0
"""Of one request: a read that a scrape no longer waits for ends soon after."""


class KafkaMetrics:
    def __init__(self, project_context: ProjectContext, pipelines: Mapping[str, Pipeline]) -> None:
        self._loaded = project_context.loaded
        self._pipelines = pipelines
        self._offsets: LiveOffsetReader | None = None

    def read(self) -> KafkaReading:
        """Raises KafkaUnreachableError, or that the embedded broker is down."""
        try:
            return self._observe()
        except AnabranchError:
            self._offsets = None  # the embedded broker may be started again on another port
            raise

    def _observe(self) -> KafkaReading:
        if self._offsets is None:
            access = ProjectContext(self._loaded).kafka
            self._offsets = LiveOffsetReader(access.client(CLIENT_ID), SECONDS)
        specs = {name: each.spec for name, each in self._pipelines.items()}
        ends = self._offsets.log_ends(spec.source.topic for spec in specs.values())
        groups = self._offsets.committed(spec.consumer_group for spec in specs.values())
        return KafkaReading(time.monotonic(), topic_readings(specs, ends, groups))
