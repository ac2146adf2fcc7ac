"""The isolation certificate on a real broker: live's own commits to its group, and those of anybody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from anabranch.adapters.iceberg.live import live_offsets
from anabranch.runs.states import Event
from tests.fixtures.broker import QUIET
from tests.scenarios.backfills import Onlooker
from tests.scenarios.shop import Shop, hours


def commit(shop: Shop, position: Mapping[int, int]) -> None:
    """To live's own group, as live does: in no membership."""
    group = shop.pipeline.spec.consumer_group
    consumer = Consumer({"bootstrap.servers": shop.kafka.bootstrap, "group.id": group, **QUIET})
    places = [TopicPartition(shop.topic, partition, offset) for partition, offset in position.items()]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@pytest.fixture
def watched(new_shop: Callable[..., Shop]) -> Shop:
    """A shop whose live has a group of its own, and has told it what it has read."""
    shop = new_shop(pipeline={"shop-orders": f"shop-orders-{uuid4().hex[:12]}"})
    shop.produce(hours())
    shop.live()
    commit(shop, shop.live_position)
    return shop


def closed(shop: Shop, meanwhile: Callable[[], object]) -> dict[str, Any]:
    """The certificate of a run during which this happens."""
    run = shop.plan(slices=1)
    shop.apply(run, Onlooker(after_slice=lambda _: meanwhile()))
    with run.lease() as lease:
        lease.transition(Event.CANCEL)
    record: Any = shop.close(run)
    isolation: dict[str, Any] = record["isolation"]
    return isolation


def test_a_process_that_commits_to_lives_own_group_breaks_the_certificate(watched: Shop) -> None:
    was = dict(watched.live_position)
    isolation = closed(watched, lambda: commit(watched, {0: 7}))
    group = watched.pipeline.spec.consumer_group
    assert (isolation["verdict"], isolation["holds"]) == ("broken", False)
    assert isolation["groups"][group] == "moved to offsets that no commit of live records"
    assert isolation["live"] == {
        "group": group,
        "before": {str(partition): end for partition, end in was.items()},
        "after": {"0": 7, "1": was[1]},
        "recorded": {str(partition): end for partition, end in was.items()},
    }


def test_live_that_goes_on_meanwhile_does_not(watched: Shop) -> None:
    def live_goes_on() -> None:
        watched.produce(hours([5], begin=5000))
        watched.live()
        commit(watched, watched.live_position)

    isolation = closed(watched, live_goes_on)
    assert (isolation["verdict"], isolation["holds"]) == ("holds", True)
    group = watched.pipeline.spec.consumer_group
    assert isolation["groups"][group] == "moved by live, to offsets that a commit of live records"
    assert len(live_offsets(watched.table(), "orders", watched.topic_uuid)) == 2
