"""Where live stands by its consumer group and by its own commits, and where its topic's log ends. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.facts import live_history
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.groups import committed
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges

if TYPE_CHECKING:
    from anabranch.adapters.kafka.topics import Topic
    from anabranch.app.project_context import ProjectContext
    from anabranch.contract.pipeline import Pipeline


@dataclass(frozen=True)
class ProjectLivePosition:
    project_context: ProjectContext
    pipeline: Pipeline
    client: Mapping[str, str]
    topic: Topic

    @classmethod
    def of(cls, project_context: ProjectContext, pipeline: Pipeline, client_id: str) -> ProjectLivePosition:
        """Raises KafkaUnreachableError, or TopicMissingError."""
        client = project_context.kafka.client(client_id)
        return cls(project_context, pipeline, client, describe_topic(client, pipeline.spec.source.topic))

    def log_ends(self) -> dict[int, int]:
        return {p: end for p, (_, end) in offset_ranges(self.client, self.topic).items()}

    def of_group(self) -> Mapping[int, int]:
        """Empty: the group has committed nothing of the topic."""
        return committed(self.client, self.pipeline.spec.consumer_group, self.topic.name)

    def of_table(self) -> Mapping[int, int]:
        """Empty: no commit of live is left in the table's history."""
        table = IcebergTarget(self.project_context.catalog.open(), self.pipeline.spec.target.table).load()
        return dict(live_history(table, table.current_snapshot(), self.pipeline.metadata.name).ends)
