"""The model of `anabranch.yaml`: the contexts a project knows, and where its pipelines and contracts are."""

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
from anabranch.project.sections.kafka import KafkaSettings
from anabranch.project.sections.metrics import MetricsSettings
from anabranch.project.sections.outage import OutageSettings
from anabranch.project.sections.spark import SparkSettings
from anabranch.project.sections.topic_classes import TopicClasses


class ContextSettings(Part):
    """One place to run in, such as dev or prod. What is left out is embedded, on this machine."""

    kafka: KafkaSettings = Field(
        default=KafkaSettings(), description="Where Kafka is.", examples=[{"bootstrap": "embedded"}]
    )
    spark: SparkSettings = Field(
        default=SparkSettings(), description="Where Spark runs.", examples=[{"master": "local[*,4]"}]
    )
    catalog: CatalogSettings = Field(
        default=CatalogSettings(), description="Where the tables are kept.", examples=[{"type": "embedded"}]
    )
    database: DatabaseSettings = Field(
        default=DatabaseSettings(), description="Where the memory of runs is kept.", examples=[{"url": "embedded"}]
    )
    metrics: MetricsSettings = Field(
        default=MetricsSettings(),
        description="Where the observability gate looks for metrics.",
        examples=[{"port": 9464}],
    )
    gates: GateSettings = Field(
        default=GateSettings(), description="Which replays a red gate blocks.", examples=[{"enforce": True}]
    )
    outage: OutageSettings = Field(
        default=OutageSettings(),
        description="How long a replay waits for a service that does not answer.",
        examples=[{"pauseAfter": "15m"}],
    )
    approval: ApprovalSettings = Field(
        default=ApprovalSettings(),
        description="What a promotion needs besides a validated run.",
        examples=[{"lifetime": "7d"}],
    )
    roles: RoleSettings = Field(
        default=RoleSettings(), description="Who may what, by name.", examples=[{"approvers": ["dana@example.com"]}]
    )

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
        description="The places to run in, by name.",
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
        description="What each topic is for: `anabranch retention audit` says whether it is kept long enough.",
        examples=[{"view-source": {"topics": ["shop.*"]}}],
    )
    prices: ProjectFile | None = Field(
        default=None,
        description="The price book; left out, the one that comes with Anabranch is used.",
        examples=["prices.yaml"],
    )

    @model_validator(mode="after")
    def _default_is_there(self) -> ProjectSpec:
        if self.default_context not in self.contexts:
            known = " or ".join(self.contexts)
            raise refuse(f'there is no context "{self.default_context}"', f"defaultContext: {known}", "defaultContext")
        return self


class Project(Envelope):
    """A project of Anabranch: where it may run, and where its pipelines and contracts are."""

    kind: Literal["Project"] = Field(description="What this file is.")
    spec: ProjectSpec = Field(description="The project itself.", examples=[{"defaultContext": "dev"}])
