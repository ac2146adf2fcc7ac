"""Probes for the gates: tries the cluster, reads samples of the range, rehearses promotion and rollback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.rollback_rehearsal import rehearse_rollback
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.bounded import ReadRefusedError, bounded_reader, read_places
from anabranch.adapters.kafka.compatibility import CompatibilityProbe
from anabranch.adapters.kafka.storage import measure_storage
from anabranch.adapters.kafka.topics import admin, describe_topic, unreachable
from anabranch.app.gate_observer import CLIENT_ID
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.gates.checks.compatibility import Probe
from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.gates.checks.storage_path import StoragePath
from anabranch.gates.ports import SampledRecord, TableIdentity
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Offsets
from anabranch.replay.staging import newest
from anabranch.runs.heads import Head

if TYPE_CHECKING:
    from confluent_kafka import Message

SECONDS = 10.0


@dataclass(frozen=True)
class ProjectProbes:
    """A `gates.ports.GateProbes`."""

    project_context: ProjectContext
    plan: Plan
    pipeline: Pipeline

    @property
    def user(self) -> str:
        login = self.project_context.kafka.login
        return (login.username or login.cert_file or "" if login else "") or "anonymous"

    def cluster(self) -> str:
        from confluent_kafka import KafkaException

        client = self._client
        asking = admin(client)  # held until the answer: a client that is collected ends its requests
        try:
            return str(asking.describe_cluster(request_timeout=SECONDS).result().cluster_id)
        except KafkaException as error:
            raise unreachable(client) from error

    def table(self) -> TableIdentity:
        table = self._target.load()
        return TableIdentity(str(table.metadata.table_uuid), schema_digest(table), table.spec().spec_id)

    def try_cluster(self) -> tuple[Sequence[Probe], Iterable[str]]:
        topic, group = self.plan.source.topic, self.pipeline.spec.consumer_group
        return CompatibilityProbe(self.project_context.kafka, topic, group, uuid4().hex[:12])()

    def storage(self) -> StoragePath:
        topic = describe_topic(self._client, self.plan.source.topic)
        path = measure_storage(self.project_context.kafka, CLIENT_ID, topic, self.plan.source.ranges)
        if path.refused is not None or not path.read_bytes:
            require_answer(self._client)  # an outage is no finding about the storage
        return path

    def read_places(
        self, places: Sequence[Offsets], flaw: Callable[[bytes | None], str | None], most: int
    ) -> Sequence[Mapping[int, tuple[SampledRecord, ...]]]:
        def decode(message: Message) -> SampledRecord:
            return SampledRecord(message.partition(), message.offset(), flaw(message.value()))

        try:
            with bounded_reader(self._client) as reader:
                return [read_places(reader, self.plan.source.topic, each, decode, most) for each in places]
        except ReadRefusedError:
            require_answer(self._client)
            return []

    def staged(self, run: str) -> Head | None:
        staging = newest(self._target.stagings(run))
        return None if staging is None else staging.head

    def rehearse_rollback(self, name: str, staged: Head | None) -> RehearsedRollback:
        return rehearse_rollback(self._target, name, self.plan.target.partitions, staged, time.monotonic)

    @property
    def _client(self) -> dict[str, str]:
        return self.project_context.kafka.client(CLIENT_ID)

    @property
    def _target(self) -> IcebergTarget:
        return IcebergTarget(self.project_context.catalog.open(), self.plan.target.table)
