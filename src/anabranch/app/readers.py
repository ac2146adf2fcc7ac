"""Finds who else reads a pipeline's topic and table. Reads only: joins no group, changes nothing."""

from __future__ import annotations

from anabranch.adapters.iceberg.commits import MAIN
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.groups import consumer_groups
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.readiness.readers import Readers, readers_of

CLIENT_ID = "anabranch-readers"


def find_readers(project_context: ProjectContext, pipeline: Pipeline) -> Readers:
    spec = pipeline.spec
    client = project_context.kafka.client(CLIENT_ID)
    groups = consumer_groups(client)
    ends = offset_ranges(client, describe_topic(client, spec.source.topic))
    refs = IcebergTarget(project_context.catalog.open(), spec.target.table).load().metadata.refs
    return readers_of(spec, groups, ends, refs.keys() - {MAIN})
