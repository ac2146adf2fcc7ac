"""Measures what gates rest on and keeps it as evidence: the cluster tried out, the range sampled, the way back gone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from anabranch.adapters.iceberg.facts import schema_digest
from anabranch.adapters.iceberg.rollback_rehearsal import rehearse_rollback
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.bounded import ReadRefusedError, bounded_reader, read_places
from anabranch.adapters.kafka.compatibility import CompatibilityProbe
from anabranch.adapters.kafka.storage import measure_storage
from anabranch.adapters.kafka.topics import admin, describe_topic, unreachable
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.gate_looks import CLIENT_ID
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill
from anabranch.contract.code import reading_digest
from anabranch.contract.json_values import ValueCheck
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError
from anabranch.gates import binding
from anabranch.gates.binding import Binding
from anabranch.gates.checks import capacity, compatibility, cost, rollback, schema, storage_path
from anabranch.gates.checks.schema import BadRecord
from anabranch.gates.evidence import ACTION, Evidence, keep_evidence, read_evidence
from anabranch.plan.plan import Plan
from anabranch.plan.slices import share_of

if TYPE_CHECKING:
    from confluent_kafka import Message

PLACES = 8
"""Of each partition's ranges, evenly spread, at which records are tried."""
RECORDS = 25
SECONDS = 10.0


@dataclass(frozen=True)
class GateMeasures:
    """For one plan. `gates/binding.py` says what each measurement counts for."""

    project_context: ProjectContext
    store: SqlRunStore
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    by: str
    """Who is on record as having measured."""
    run: str | None = None

    def known(self) -> dict[str, Evidence]:
        """The newest of each kind that is about this very backfill, whether it still counts or not."""
        kinds = (compatibility, storage_path, capacity, cost, schema, rollback)
        found = {each.KIND: self._newest(each.KIND) for each in kinds}
        return {kind: evidence for kind, evidence in found.items() if evidence is not None}

    def try_cluster(self, now: datetime) -> Evidence:
        topic, group = self.plan.source.topic, self.pipeline.spec.consumer_group
        probes, left = CompatibilityProbe(self.project_context.kafka, topic, group, uuid4().hex[:12])()
        found = compatibility.document_of(probes, left, user=self._user, topic=topic)
        return self._keep(compatibility.KIND, found, now + compatibility.LIFETIME)

    def measure_storage(self, now: datetime) -> Evidence:
        client = self.project_context.kafka.client(CLIENT_ID)
        topic = describe_topic(client, self.plan.source.topic)
        path = measure_storage(self.project_context.kafka, CLIENT_ID, topic, self.plan.source.ranges)
        if path.refused is not None or not path.read_bytes:
            require_answer(client)
        return self._keep(storage_path.KIND, path.document(), now + storage_path.LIFETIME)

    def sample_schema(self, now: datetime) -> Evidence:
        ranges = self.plan.source.ranges
        pieces = [{p: share_of(each, number, PLACES) for p, each in ranges.items()} for number in range(PLACES)]
        spans = [{p: each[0] for p, each in slice_.items() if each} for slice_ in pieces]
        check = ValueCheck(self.pipeline.spec)

        def look(message: Message) -> tuple[int, int, str | None]:
            return message.partition(), message.offset(), check.problem(message.value())

        samples: list[Mapping[int, tuple[tuple[int, int, str | None], ...]]] = []
        try:
            with bounded_reader(self.project_context.kafka.client(CLIENT_ID)) as reader:
                for each in spans:
                    samples.append(read_places(reader, self.plan.source.topic, each, look, RECORDS))
        except ReadRefusedError:
            require_answer(self.project_context.kafka.client(CLIENT_ID))
            samples.clear()  # none of the places was read, which is what the gate is told
        tried = [each for sample in samples for records in sample.values() for each in records]
        bad = [BadRecord(partition, offset, flaw) for partition, offset, flaw in tried if flaw is not None]
        places = sum(map(len, spans))
        found = schema.document_of(len(tried), bad, places, places - sum(map(len, samples)))
        return self._keep(schema.KIND, found, now + schema.LIFETIME)

    def rehearse_rollback(self, now: datetime, staged: int | None) -> Evidence:
        """`staged` is the snapshot to be promoted; with none the range is only taken out and put back."""
        name, part = self.run or f"gates-{self.plan.hash[:12]}", self.plan.target.partitions
        try:
            found = rehearse_rollback(self._target, name, part, staged, time.monotonic).document()
        except AnabranchError as refused:
            found = rollback.refusal_of(refused.code, refused.what, refused.remedy)
        except Exception as error:
            # Named and not quoted, since a catalog's client may quote its settings. Whatever it was, it is no way back.
            words = f"the catalog or the store did not let it be done ({type(error).__name__})"
            found = rollback.refusal_of(
                "rollback.not-rehearsed", words, "let this user commit to branches of the table"
            )
        return self._keep(rollback.KIND, found, now + rollback.LIFETIME)

    def _keep(self, kind: str, found: Mapping[str, Any], until: datetime) -> Evidence:
        bound = self._binding(kind)
        details = {**found, "about": dict(bound.about)}
        writer, run = self.store.writer, self.run
        return keep_evidence(writer, kind, bound.subject, details, by=self.by, good_until=until, run_id=run)

    def _newest(self, kind: str) -> Evidence | None:
        records = self.store.reader.audit(action=f"{ACTION}{kind}")
        if not records:
            return None  # the cluster is not asked for its id where no evidence names one
        bound = self._binding(kind)
        same = [each for each in map(read_evidence, records) if bound.holds(each)]
        return same[-1] if same else None

    def _binding(self, kind: str) -> Binding:
        plan = self.plan
        match kind:
            case compatibility.KIND:
                return binding.of_compatibility(plan, cluster=self._cluster, user=self._user)
            case storage_path.KIND:
                return binding.of_storage(plan)
            case schema.KIND:
                return binding.of_schema(plan, reading=reading_digest(self.pipeline.spec))
            case rollback.KIND:
                return binding.of_rollback(plan, **self._shape)
            case capacity.KIND:
                return binding.of_rehearsal(plan, self.contract)
            case cost.KIND:
                return binding.of_cost(plan)
            case _:
                raise ValueError(f"no binding for evidence of kind {kind!r}")

    @property
    def _user(self) -> str:
        login = self.project_context.kafka.login
        return (login.username or login.cert_file or "" if login else "") or "anonymous"

    @cached_property
    def _cluster(self) -> str:
        from confluent_kafka import KafkaException

        client = self.project_context.kafka.client(CLIENT_ID)
        asking = admin(client)
        try:
            return str(asking.describe_cluster(request_timeout=SECONDS).result().cluster_id)
        except KafkaException as error:
            raise unreachable(client) from error

    @property
    def _target(self) -> IcebergTarget:
        return IcebergTarget(self.project_context.catalog.open(), self.plan.target.table)

    @cached_property
    def _shape(self) -> dict[str, Any]:
        table = self._target.load()
        return {"table": str(table.metadata.table_uuid), "schema": schema_digest(table), "spec": table.spec().spec_id}
