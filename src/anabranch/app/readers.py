"""Finds who else reads a pipeline's topic and table. Looks only: no group is joined, nothing is changed."""

from __future__ import annotations

from anabranch.adapters.iceberg.commits import MAIN
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.groups import consumer_groups
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
from anabranch.app.project_context import ProjectContext
from anabranch.contract.consumer_groups import ConsumerGroup
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.slices import Offsets
from anabranch.readiness.readers import Readers, TopicReader

CLIENT_ID = "anabranch-readers"
OURS = "ab_"
"""What the names of our own branches and tags begin with."""


def find_readers(project_context: ProjectContext, pipeline: Pipeline) -> Readers:
    spec = pipeline.spec
    client = project_context.kafka.client(CLIENT_ID)
    groups = consumer_groups(client)
    ends = offset_ranges(client, describe_topic(client, spec.source.topic))
    found = [_reader(name, group, spec.source.topic, ends, spec.consumer_group) for name, group in groups.items()]
    table = IcebergTarget(project_context.catalog.open(), spec.target.table).load()
    refs = sorted(name for name in table.metadata.refs if name != MAIN and not name.startswith(OURS))
    return Readers(
        spec.source.topic,
        tuple(sorted((each for each in found if each is not None), key=lambda each: (not each.live, each.group))),
        spec.target.table,
        tuple(refs),
    )


def _reader(name: str, group: ConsumerGroup, topic: str, ends: Offsets, live_group: str) -> TopicReader | None:
    """None: it has committed no offset of this topic."""
    stands = {p: group.offsets[f"{topic}/{p}"] for p in ends if group.offsets.get(f"{topic}/{p}", -1) >= 0}
    if not stands:
        return None
    behind = sum(max(0, ends[p][1] - offset) for p, offset in stands.items())
    return TopicReader(name, group.members, behind, name == live_group)
