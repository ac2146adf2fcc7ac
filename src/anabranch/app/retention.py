"""Audits the retention of a cluster's topics against the classes that the project gives them. No JVM, no change."""

from __future__ import annotations

from datetime import datetime, timedelta

from anabranch.adapters.kafka.survey import survey_topics
from anabranch.app.project_context import ProjectContext
from anabranch.contract.load import load_pipelines
from anabranch.contract.pipeline import PipelineClass
from anabranch.readiness.retention import RetentionAudit, audit_of, judge_topic
from anabranch.readiness.topic_classes import classify

WATCHED = timedelta(days=7)
"""Growth is what came in a week: of a day it would hang on which day that is."""


def audit_retention(
    project_context: ProjectContext, *, now: datetime, only: tuple[str, ...] | None = None
) -> RetentionAudit:
    """All topics of the cluster that this user may see, or those of these names that are there."""
    readers: dict[str, list[PipelineClass]] = {}
    for loaded in load_pipelines(project_context.loaded).values():
        spec = loaded.pipeline.spec
        readers.setdefault(spec.source.topic, []).append(spec.pipeline_class)
    classes = project_context.loaded.project.spec.topic_classes
    topics = survey_topics(project_context.kafka, now=now, watched=WATCHED, only=only)
    return audit_of(
        (judge_topic(each, classify(each.name, classes), readers.get(each.name, ())) for each in topics), now
    )
