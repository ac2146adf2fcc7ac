"""Temporary capacity is given back: a replay's quota is there while it reads, and its closure finds nothing left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.quotas import KafkaQuotas
from anabranch.app.backfill import BackfillRun
from anabranch.close.capacity import left_behind
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.plan.quotas import FLOOR, QuotaEntity
from anabranch.replay.quota_overview import quota_line
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.quotas import QuotaEnd
from anabranch.runs.states import Event
from tests.fixtures.broker import eventually
from tests.scenarios.backfills import Onlooker
from tests.scenarios.shop import Shop, hours
from tests.scenarios.test_rate_limit import SLOW, Consumers, in_small_batches, limited, replay, wide

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def entity(run: BackfillRun) -> QuotaEntity:
    return QuotaEntity("ANONYMOUS", f"{REPLAY_PREFIX}-{run.run_id}")


@pytest.mark.long
def test_a_replay_with_a_rate_has_a_quota_until_it_ends(new_shop: Callable[..., Shop]) -> None:
    """Its consumers are throttled by it: most of what they get is headers, which the client's limit does not count."""
    shop = new_shop()
    shop.produce([{**each, "headers": [("trace", bytes(70_000))]} for each in wide(hours(each=80))])
    shop.live()
    limited(shop, SLOW)
    run = shop.plan(slices=2)
    brokers = KafkaQuotas(KafkaAccess(shop.kafka.bootstrap))
    watch = Onlooker(after_slice=lambda _: eventually(lambda: brokers.read(entity(run)) == FLOOR))
    assert replay(run, watch) is ReplayEnd.STAGED
    eventually(lambda: brokers.read(entity(run)) is None)
    assert any("Broker quota set and read back: 1.0 MB/s per broker" in each for each in watch.notices)
    line = quota_line(shop.store.reader, run.run_id)
    assert line is not None
    assert line.endswith("; removed")
    [record] = shop.store.reader.quotas(run_id=run.run_id)
    assert record.verified_at is not None
    assert len([each for each in watch.notices if each.startswith("Broker quota verified: brokers throttled")]) == 1
    capacity = closed(shop, run)["capacity"]
    assert capacity["verdict"] == "returned", capacity
    assert capacity["quotas"]["looked_at"].startswith("client quotas of the cluster")


@pytest.mark.long
def test_a_replay_receives_no_more_than_its_rate_over_any_thirty_seconds(new_shop: Callable[..., Shop]) -> None:
    """As its consumer counts the bytes that brokers sent: with the client's limit and the quota at the same rate."""
    shop, rate, window = new_shop(partitions=1), FLOOR, 30.0
    in_small_batches(shop, wide(hours(range(1, 5), each=4500, partitions=1)))
    shop.live()
    limited(shop, rate)
    run = shop.plan(slices=3)
    consumers = Consumers(shop, f"{REPLAY_PREFIX}-{run.run_id}")
    with consumers.sampled():
        assert replay(run, Onlooker()) is ReplayEnd.STAGED
    received = [(each.after, each.bytes) for each in consumers.samples[::4]]
    assert received[-1][1] > 1.2 * window * rate, "it read for longer than the window"
    most = max(
        last - first
        for number, (begin, first) in enumerate(received)
        for end, last in received[number:]
        if end - begin <= window
    )
    assert 0.5 * rate * window <= most <= 1.05 * rate * window


def closed(shop: Shop, run: BackfillRun) -> Any:
    with run.lease() as lease:
        if lease.run.state.value != "cancelled":
            lease.transition(Event.CANCEL)
    return shop.close(run)


@pytest.fixture
def other_process() -> Iterator[str]:
    """The name of a holder whose process is alive, and not this one."""
    program = "from anabranch.runs.lease_holder import holder_name; print(holder_name('bob'), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


@pytest.mark.parametrize("kind", ["quotas", "topics", "branches", "spark"])
def test_what_is_left_is_in_the_record_by_name(
    shop: Shop, kind: str, other_process: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of capacity, left by something that removing missed."""
    run = shop.plan(slices=1)
    brokers, stray = KafkaQuotas(KafkaAccess(shop.kafka.bootstrap)), QuotaEntity(None, entity(run).client_id)
    name = f"{entity(run).client_id}"
    match kind:
        case "quotas":
            with run.lease() as lease:
                number = lease.writer.intend_quota(
                    run.run_id, lease.epoch, cluster="c", user="ANONYMOUS", client_id=name, value=FLOOR
                ).number
                lease.writer.end_quota(number, QuotaEnd.REMOVED)
            brokers.set(stray, FLOOR)
            eventually(lambda: brokers.read(stray) == FLOOR)
        case "topics":
            name = shop.kafka.create_topic(f"{name}-scratch")
        case "branches":
            name = f"ab_{run.run_id}_e7"
            monkeypatch.setattr(type(run.target), "remove_refs", lambda *_: None)
            table = shop.table()
            snapshot = table.current_snapshot()
            assert snapshot is not None
            table.manage_snapshots().create_branch(snapshot.snapshot_id, name).commit()
        case "spark":
            name = other_process
            epoch = shop.store.writer.acquire(run.run_id, name, timedelta(minutes=1), actor="bob").epoch
            shop.store.writer.release(run.run_id, epoch, actor="bob")
    try:
        record = closed(shop, run)
        assert record["capacity"]["verdict"] == "left", record["capacity"]
        [line] = left_behind(record)
        assert line.startswith(f"{kind}: ")
        assert name in line
    finally:
        brokers.remove(stray)
