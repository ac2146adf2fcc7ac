"""Builds the watch over live on the project's cluster and catalog."""

from __future__ import annotations

from anabranch.app.live_position import ProjectLivePosition
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.readiness.live_watch import LiveWatch

CLIENT_ID = "anabranch-rehearsal"


def live_watch(project_context: ProjectContext, pipeline: Pipeline) -> LiveWatch:
    """Raises KafkaUnreachableError, or TopicMissingError."""
    return LiveWatch(ProjectLivePosition.of(project_context, pipeline, CLIENT_ID))
