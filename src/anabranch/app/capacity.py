"""Looks whether what a run took for a time is gone: at the brokers, in the table, and at the run's processes."""

from __future__ import annotations

from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.quotas import KafkaQuotas
from anabranch.adapters.kafka.topics import topic_names
from anabranch.app.project_context import ProjectContext
from anabranch.close.capacity import CapacitySurveyor
from anabranch.runs.run_lease import RunLease

CLIENT_ID = "anabranch-close"


def capacity_surveyor(project_context: ProjectContext, lease: RunLease, table: str) -> CapacitySurveyor:
    return CapacitySurveyor(
        lease,
        table,
        quotas=KafkaQuotas(project_context.kafka).of_client,
        topics=lambda: topic_names(project_context.kafka.client(CLIENT_ID)),
        refs=lambda run: IcebergTarget(project_context.catalog.open(), table).refs_of(run),
    )
