"""The race against retention on a topic whose records really expire: the broker deletes them, and nothing else does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from anabranch.app.backfill import BackfillRun
from anabranch.gates.measure import READS
from anabranch.plan.plan import Plan
from anabranch.plan.retention.decision import RaceAnswer
from anabranch.replay.controls import ControlRequest
from anabranch.replay.retention_extension import STEP
from anabranch.runs.states import Event, State
from anabranch.validate.report import Verdict
from tests.fixtures.broker import QUIET, eventually
from tests.scenarios.backfills import JUNE, SECONDS, Onlooker
from tests.scenarios.shop import CONTRACT, Shop, order, refusal, staged_slices

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

HOUR = timedelta(hours=1)
EACH = 120
SLOW = 100
"""Bytes per second: reading all takes some minutes by the contract, and an operator then lifts the limit."""
SEGMENTS = {"segment.ms": "600000"}
"""Every ten minutes of records, so that an hour can be deleted without the next one."""
OLD, NEW = 1, 0
HOURS = {OLD: JUNE + 2 * HOUR + 15 * timedelta(minutes=1), NEW: JUNE + 3 * HOUR + 15 * timedelta(minutes=1)}
"""When the records of each partition begin: one expires an hour before the other."""
SOON = timedelta(seconds=90)
"""Less than the first of four slices takes by the contract, and enough for a replay to begin."""


def milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


def kept(moment: datetime, left: timedelta) -> str:
    """The retention.ms under which a record of that moment expires so long from now."""
    return str(milliseconds(datetime.now(timezone.utc) - moment + left))


def skewed_shop(new_shop: Callable[..., Shop]) -> Shop:
    """A shop whose second hour is in one partition and whose third is in the other, written by live with the bug."""
    shop = new_shop(config=SEGMENTS)
    for batch in records():
        shop.produce(batch)
    shop.live()
    return shop


def records() -> Iterator[list[dict[str, Any]]]:
    """Ten seconds of each hour, then something newer, so that the last segment of the range is not the active one.

    A batch is appended as a whole, and its segment is as new as its last record.
    """
    for partition, begin in HOURS.items():
        yield [order(1000 * partition + n, begin + n * timedelta(seconds=10) / EACH, partition) for n in range(EACH)]
    yield [order(10_000 + partition, JUNE + 30 * HOUR, partition) for partition in HOURS]


def set_retention(shop: Shop, value: str, topic: str | None = None) -> None:
    change = ConfigEntry("retention.ms", value, incremental_operation=AlterConfigOpType.SET)
    client = shop.admin
    resource = ConfigResource(ResourceType.TOPIC, topic or shop.topic, incremental_configs=[change])
    for answer in client.incremental_alter_configs([resource], request_timeout=SECONDS).values():
        answer.result(SECONDS)
    eventually(lambda: retention(shop, topic) == value)


def retention(shop: Shop, topic: str | None = None) -> str:
    client = shop.admin
    [answer] = client.describe_configs([ConfigResource(ResourceType.TOPIC, topic or shop.topic)]).values()
    return str(answer.result(SECONDS)["retention.ms"].value)


def begins(shop: Shop, topic: str | None = None) -> dict[int, int]:
    """The first offset of each partition, as a plain consumer sees it."""
    consumer = Consumer({"bootstrap.servers": shop.kafka.bootstrap, "group.id": "test-begins", **QUIET})
    try:
        name = topic or shop.topic
        numbers = consumer.list_topics(name, timeout=SECONDS).topics[name].partitions
        return {p: consumer.get_watermark_offsets(TopicPartition(name, p), timeout=SECONDS)[0] for p in numbers}
    finally:
        consumer.close()


def expire(shop: Shop) -> None:
    """Let the second hour expire, as retention of a little less than its age does; the third stays."""
    set_retention(shop, kept(JUNE + 3 * HOUR, -timedelta(seconds=1)))
    eventually(lambda: begins(shop)[OLD] >= EACH)
    assert begins(shop)[NEW] == 0


def submitted(shop: Shop, **spec: Any) -> BackfillRun:
    """A run whose gates have measured, so slow by its contract; an operator has lifted the limit."""
    write_contract(shop, **spec)
    run = shop.plan(slices=4)
    run.gates.measure(lambda _: None, READS)
    details = {"bytes_per_second": None}
    shop.store.writer.record_act(ControlRequest.THROTTLE.value, actor="ann", run_id=run.run_id, details=details)
    return run


def write_contract(shop: Shop, **spec: Any) -> None:
    contract: dict[str, Any] = deepcopy(CONTRACT)
    contract["spec"].update({"budget": {"bytesPerSecond": SLOW}, **spec})
    shop.contract.write_text(json.dumps(contract))


def partitions_of(planned: Plan) -> list[list[int]]:
    return [sorted(each.offsets) for each in planned.slices]


def answer(shop: Shop, run: BackfillRun) -> object:
    note = shop.store.reader.retention_race(run.run_id)
    return None if note is None else note.details["answer"]


def test_a_replay_in_shares_of_every_partition_loses_what_expires_first(new_shop: Callable[..., Shop]) -> None:
    shop = skewed_shop(new_shop)
    run = submitted(shop)
    assert partitions_of(run.plan) == [[NEW, OLD]] * 4, "nothing expires when it is planned"
    error = refusal(shop.apply, run, Onlooker(lambda _: expire(shop)))
    assert error.code == "plan.retention-overtook"
    assert f"partition {OLD}: " in error.what
    assert error.command == f"anabranch cancel {run.run_id}"
    assert (staged_slices(run), run.run.state) == (1, State.FAILED)


def test_read_by_expiry_the_same_range_is_complete(new_shop: Callable[..., Shop]) -> None:
    shop = skewed_shop(new_shop)
    write_contract(shop)
    size = shop.planned(4).estimates.bytes
    assert size is not None
    # Half of the range is read in 0.75 of this time, with the factor of 1.5, and all of it in 1.5.
    set_retention(shop, kept(HOURS[OLD], timedelta(seconds=1.2 * size / SLOW)))
    planned = shop.planned(4)
    assert planned.race is not None
    assert planned.race.answer is RaceAnswer.SOONEST_FIRST, planned.race.steps
    run, watch = submitted(shop), Onlooker()
    assert partitions_of(run.plan) == [[OLD], [OLD], [NEW], [NEW]]
    watch.after_slice = lambda _: expire(shop) if len(watch.seen) == 2 else None
    assert shop.apply(run, watch).verdict is Verdict.ACCEPTED
    assert len(watch.seen) == 4
    assert begins(shop)[OLD] >= EACH, "they have expired, and are in staging"


def test_a_lost_race_is_refused_with_numbers_and_an_extension_holds_and_is_restored(
    new_shop: Callable[..., Shop],
) -> None:
    shop = skewed_shop(new_shop)
    canary = shop.kafka.create_topic(shop.kafka.unique_name("canary"), 2, {"retention.ms": "-1", **SEGMENTS})
    for batch in records():
        shop.kafka.produce(canary, batch)
    refused = submitted(shop)
    set_retention(shop, kept(HOURS[OLD], SOON))
    error = refusal(shop.apply, refused, Onlooker())
    assert error.code == "gates.closed"
    assert re.search(rf"partition {OLD}, offset \d+ may be deleted in \w+ by retention.ms, is read in", error.what)
    assert "extendUpTo" in (error.hint or "")
    assert set(shop.table().metadata.refs) == {"main"}, "nothing was created"
    with refused.lease() as lease:
        lease.transition(Event.CANCEL)

    set_retention(shop, "-1")
    run = submitted(shop, retention={"extendUpTo": "3650d"})
    former = kept(HOURS[OLD], SOON)
    set_retention(shop, former)
    set_retention(shop, former, canary)
    during: list[object] = []

    def look(_: str) -> None:
        if not during:
            eventually(lambda: begins(shop, canary)[OLD] >= EACH, 2 * SOON.total_seconds() + 60)
            during.extend([begins(shop)[OLD], retention(shop), answer(shop, run)])

    assert shop.apply(run, Onlooker(look)).verdict is Verdict.ACCEPTED
    assert during == [0, str(milliseconds(timedelta(days=3650))), RaceAnswer.EXTENSION.value]
    assert retention(shop) == former
    assert shop.store.reader.open_steps(STEP) == []
    eventually(lambda: begins(shop)[OLD] >= EACH)
