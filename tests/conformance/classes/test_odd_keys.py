"""Odd keys: a merge that changes nothing, and a key in two partitions."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.conformance.classes.kinds import UPSERT, Kind
from tests.conformance.classes.scene import Scene

from anabranch.adapters.iceberg.live import last_live_commit
from anabranch.adapters.spark.keyed.changes import KeySplitError

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]


def test_a_merge_that_changes_nothing_still_says_how_far_live_is_and_a_split_key_is_refused(
    new_scene: Callable[[Kind], Scene],
) -> None:
    scene = new_scene(UPSERT)
    scene.produce(0, 20, seed=1)
    scene.live()
    before = scene.rows()
    scene.kafka.produce(scene.topic, [{"key": b"nobody", "value": None, "partition": 0}])
    scene.live()
    assert scene.rows() == before
    last = last_live_commit(scene.table(), "accounts")
    assert last is not None
    assert last.position == scene.position
    left = [key for key in scene.spark.session.conf.getAll if "snapshot-property" in key]
    assert left == []

    event = json.dumps({"account": "a1", "amount": 1, "at": "2025-06-01T00:00:00Z"}).encode()
    scene.kafka.produce(scene.topic, [{"key": b"a1", "value": event, "partition": p} for p in (0, 1)])
    with pytest.raises(KeySplitError) as refused:
        scene.live()
    assert "a1" in refused.value.what
    assert scene.rows() == before
