"""Which consumer groups and which refs count as readers of a pipeline's topic and table."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.plan.world import World

from anabranch.contract.consumer_groups import ConsumerGroup
from anabranch.contract.pipeline import PipelineSpec
from anabranch.readiness.readers import TopicReader, readers_of

ENDS = {0: (0, 10), 1: (5, 20)}


@pytest.fixture
def spec(tmp_path: Path) -> PipelineSpec:
    return World.below(tmp_path).request().pipeline.spec


def test_live_comes_first_and_a_group_of_another_topic_is_no_reader(spec: PipelineSpec) -> None:
    topic = spec.source.topic
    groups = {
        "audit": group({f"{topic}/0": 10, f"{topic}/1": 19}),
        spec.consumer_group: group({f"{topic}/0": 4}, members=2),
        "other": group({"another.topic/0": 3}),
        "joined-only": group({f"{topic}/0": -1}, members=1),
    }
    readers = readers_of(spec, groups, ENDS, ())
    assert readers.groups == (
        TopicReader(spec.consumer_group, 2, 6, live=True),
        TopicReader("audit", 0, 1, live=False),
    )
    assert readers.others == (TopicReader("audit", 0, 1, live=False),)


def test_a_group_beyond_the_end_is_not_behind(spec: PipelineSpec) -> None:
    readers = readers_of(spec, {"audit": group({f"{spec.source.topic}/0": 99})}, ENDS, ())
    assert [each.lag for each in readers.groups] == [0]


def test_refs_of_anabranch_are_no_readers(spec: PipelineSpec) -> None:
    readers = readers_of(spec, {}, ENDS, {"ab_run_e1", "monthly", "audit"})
    assert readers.refs == ("audit", "monthly")


def group(offsets: dict[str, int], members: int = 0) -> ConsumerGroup:
    return ConsumerGroup(members, offsets)
