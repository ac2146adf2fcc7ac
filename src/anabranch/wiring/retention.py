"""Audits the retention of a cluster's topics against the classes that the project gives them. No JVM, no change."""

from __future__ import annotations

from datetime import datetime, timedelta

from anabranch.adapters.kafka.survey import survey_topics
from anabranch.contract.load import load_pipelines
from anabranch.contract.pipeline import PipelineClass
from anabranch.gates.retention import RetentionAudit, audit_of, judge_topic
from anabranch.gates.topic_classes import classify
from anabranch.wiring.workplace import Workplace

WATCHED = timedelta(days=7)
"""Growth is what came in a week: of a day it would hang on which day that is."""


def audit_retention(workplace: Workplace, *, now: datetime, only: tuple[str, ...] | None = None) -> RetentionAudit:
    """All topics of the cluster that this user may see, or those of these names that are there."""
    readers: dict[str, list[PipelineClass]] = {}
    for loaded in load_pipelines(workplace.loaded).values():
        spec = loaded.pipeline.spec
        readers.setdefault(spec.source.topic, []).append(spec.pipeline_class)
    classes = workplace.loaded.project.spec.topic_classes
    topics = survey_topics(workplace.kafka, now=now, watched=WATCHED, only=only)
    return audit_of(
        (judge_topic(each, classify(each.name, classes), readers.get(each.name, ())) for each in topics), now
    )
