"""Audits the retention of a cluster's topics against the classes that the project gives them. No JVM, no change."""

from __future__ import annotations

from datetime import datetime

from anabranch.adapters.kafka.survey import survey_topics
from anabranch.app.project_context import ProjectContext
from anabranch.contract.load import load_pipelines
from anabranch.readiness.retention import WATCHED, RetentionAudit, audit_topics


def audit_retention(
    project_context: ProjectContext, *, now: datetime, only: tuple[str, ...] | None = None
) -> RetentionAudit:
    """All topics of the cluster that this user may see, or those of these names that exist."""
    pipelines = [each.pipeline.spec for each in load_pipelines(project_context.loaded).values()]
    topics = survey_topics(project_context.kafka, now=now, watched=WATCHED, only=only)
    return audit_topics(topics, pipelines, project_context.loaded.project.spec.topic_classes, now)
