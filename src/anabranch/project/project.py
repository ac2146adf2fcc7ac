"""The model of `anabranch.yaml`: contexts, and the folders of pipelines and contracts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from anabranch.project.model import Envelope, Name, Part
from anabranch.project.paths import ProjectFile, ProjectPath
from anabranch.project.refusals import refuse
from anabranch.project.sections.approval import ApprovalSettings, RoleSettings
from anabranch.project.sections.catalog import CatalogSettings
from anabranch.project.sections.database import DatabaseSettings
from anabranch.project.sections.gates import GateSettings
from anabranch.project.sections.governor import GovernorSettings
from anabranch.project.sections.hooks import HookSettings
from anabranch.project.sections.kafka import KafkaSettings
from anabranch.project.sections.metrics import MetricsSettings
from anabranch.project.sections.outage import OutageSettings
from anabranch.project.sections.replay_budget import ReplayBudgetSettings
from anabranch.project.sections.spark import SparkSettings
from anabranch.project.sections.topic_classes import TopicClasses
from anabranch.project.sections.veto import VetoSettings


class ContextSettings(Part):
    """One environment, such as dev or prod. Services left out are embedded, on this machine."""

    kafka: KafkaSettings = Field(
        default=KafkaSettings(), description="The Kafka cluster.", examples=[{"bootstrap": "embedded"}]
    )
    spark: SparkSettings = Field(
        default=SparkSettings(), description="The Spark master and its options.", examples=[{"master": "local[*,4]"}]
    )
    catalog: CatalogSettings = Field(
        default=CatalogSettings(), description="The Iceberg catalog.", examples=[{"type": "embedded"}]
    )
    database: DatabaseSettings = Field(
        default=DatabaseSettings(),
        description="The control database: runs, approvals and audit log.",
        examples=[{"url": "embedded"}],
    )
    metrics: MetricsSettings = Field(
        default=MetricsSettings(),
        description="The endpoint that the observability gate reads.",
        examples=[{"port": 9464}],
    )
    gates: GateSettings = Field(
        default=GateSettings(), description="Which replays a red gate blocks.", examples=[{"enforce": True}]
    )
    governor: GovernorSettings = Field(
        default=GovernorSettings(),
        description="How a replay yields to live.",
        examples=[{"lag": "10s"}],
    )
    outage: OutageSettings = Field(
        default=OutageSettings(),
        description="How long a replay waits for a service that does not respond.",
        examples=[{"pauseAfter": "15m"}],
    )
    replay_budget: ReplayBudgetSettings | None = Field(
        default=None,
        description="What all replays of the context may read together, and how many run at once; if left out, neither "
        "is limited.",
        examples=[{"bytesPerSecond": "50MiB", "runs": 2}],
    )
    veto: VetoSettings | None = Field(
        default=None,
        description="An address that is asked before a replay starts and between its slices.",
        examples=[{"url": "https://change.example.com/may-replay"}],
    )
    hooks: HookSettings = Field(
        default=HookSettings(),
        description="Commands that run around a replay, a promotion and a closure.",
        examples=[{"beforePromote": ["hooks/pause-consumers.sh"]}],
    )
    approval: ApprovalSettings = Field(
        default=ApprovalSettings(),
        description="Approval of promotions.",
        examples=[{"lifetime": "7d"}],
    )
    roles: RoleSettings = Field(
        default=RoleSettings(),
        description="Who may approve, operate and roll back.",
        examples=[{"approvers": ["dana@example.com"]}],
    )

    @model_validator(mode="after")
    def _hooks_have_no_database_password(self) -> ContextSettings:
        password = self.database.password
        for name, secret in self.hooks.environment.items():
            if password is not None and secret.reference == password.reference:
                what = "a hook must not have the password of the control database"
                raise refuse(what, "another secret", "hooks", "environment", name)
        return self

    @property
    def needs_approval(self) -> bool:
        return not self.kafka.embedded if self.approval.required is None else self.approval.required

    @property
    def enforces_gates(self) -> bool:
        return not self.kafka.embedded if self.gates.enforce is None else self.gates.enforce


class ProjectSpec(Part):
    default_context: Name = Field(
        description="The context to use when neither --context nor ANABRANCH_CONTEXT names one.", examples=["dev"]
    )
    contexts: Mapping[Name, ContextSettings] = Field(
        description="The contexts, by name.",
        min_length=1,
        examples=[{"dev": {"kafka": {"bootstrap": "embedded"}}}],
    )
    pipelines: ProjectPath = Field(
        default="pipelines", description="The folder of the pipelines' files.", examples=["pipelines"]
    )
    contracts: ProjectPath = Field(
        default="contracts", description="The folder of the contracts' files.", examples=["contracts"]
    )
    topic_classes: TopicClasses = Field(
        default=TopicClasses(),
        description="The class of each topic, from which `anabranch retention audit` derives its minimum retention.",
        examples=[{"view-source": {"topics": ["shop.*"]}}],
    )
    prices: ProjectFile | None = Field(
        default=None,
        description="The price book; the default one if left out.",
        examples=["prices.yaml"],
    )

    @model_validator(mode="after")
    def _default_exists(self) -> ProjectSpec:
        if self.default_context not in self.contexts:
            known = " or ".join(self.contexts)
            raise refuse(f'contexts has no "{self.default_context}"', f"defaultContext: {known}", "defaultContext")
        return self


class Project(Envelope):
    """A project: its contexts, pipelines and contracts."""

    kind: Literal["Project"] = Field(description="What this file is.")
    spec: ProjectSpec = Field(description="The project itself.", examples=[{"defaultContext": "dev"}])
