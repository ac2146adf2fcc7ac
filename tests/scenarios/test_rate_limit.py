"""The byte-rate limit holds inside a slice: bytes over short windows, as the Kafka consumer itself counts them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import pytest
from confluent_kafka import Producer

from anabranch.adapters.spark.source.read_meter import ReadMeter
from anabranch.app.backfill import BackfillRun
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.plan.slices import Slice
from anabranch.replay.controls import ControlRequest
from anabranch.replay.replayer import ReplayEnd, SlicePhase, SliceProgress
from tests.fixtures.broker import QUIET
from tests.scenarios.backfills import SECONDS, Onlooker, edit
from tests.scenarios.shop import CONTRACT, Shop, hours
from tests.scenarios.test_special_topics import ABSURD

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SLOW, FAST = 200_000, 600_000
WINDOW = 1.0
TOLERANCE = 1.4
"""A tenth of a second's burst, and a quarter of a second's bytes that the consumer fetches ahead."""
USED = 0.5
"""Of the limit, in the best second, on a machine that may have other work to do."""
BYTES_PER_ORDER = 5_000


@dataclass(frozen=True)
class Sample:
    """A counter's value, read between two moments."""

    before: float
    after: float
    bytes: int


@dataclass
class Consumers:
    """What a client's consumers have received from the broker, by their own metrics, sampled in a thread."""

    shop: Shop
    client: str
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        jvm: Any = self.shop.spark.session._jvm
        self._beans = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
        self._name = jvm.javax.management.ObjectName(f"kafka.consumer:type=consumer-metrics,client-id={self.client}")
        self._is_registered = self._method(jvm.javax.management.ObjectName)
        self._attribute = self._method(jvm.javax.management.ObjectName, jvm.java.lang.String)

    def _method(self, *given: Any) -> Any:
        """Of the server's interface: its class is not open to py4j."""
        gateway: Any = self.shop.spark.session.sparkContext._gateway
        jvm = gateway.jvm
        types = gateway.new_array(jvm.java.lang.Class, len(given))
        for number, each in enumerate(given):
            types[number] = jvm.java.lang.Class.forName(each._fqn)
        name = "isRegistered" if len(given) == 1 else "getAttribute"
        return jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethod(name, types)

    def _call(self, method: Any, *given: Any) -> Any:
        gateway: Any = self.shop.spark.session.sparkContext._gateway
        arguments = gateway.new_array(gateway.jvm.java.lang.Object, len(given))
        for number, each in enumerate(given):
            arguments[number] = each
        return method.invoke(self._beans, arguments)

    def received(self) -> int:
        if not self._call(self._is_registered, self._name):
            return 0
        return int(self._call(self._attribute, self._name, "incoming-byte-total"))

    @contextmanager
    def sampled(self) -> Iterator[None]:
        ended = Event()

        def sample() -> None:
            while not ended.wait(0.05):
                before = time.monotonic()
                received = self.received()
                self.samples.append(Sample(before, time.monotonic(), received))

        thread = Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def most(self, since: float, until: float) -> float:
        """The most bytes per second in any window that lies between these moments."""
        inside = [each for each in self.samples if since <= each.before and each.after <= until]
        rates = [
            (last.bytes - first.bytes) / (last.after - first.before)
            for first in inside
            for last in inside
            if last.after - first.before >= WINDOW
        ]
        return max(rates)


@dataclass
class Throttling(Onlooker):
    """Changes the limit once, in the middle of the first slice."""

    shop: Shop | None = None
    run: str = ""
    after: float = 2.5
    inside: list[tuple[float, SliceProgress]] = field(default_factory=list)
    request: float | None = None

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:
        now = time.monotonic()
        self.inside.append((now, progress))
        assert self.shop is not None
        if self.request is None and progress.bytes and now - self._first_read() >= self.after:
            self.request = now
            details = {"bytes_per_second": FAST}
            self.shop.store.writer.record_act(
                ControlRequest.THROTTLE.value, actor="ann", run_id=self.run, details=details
            )

    def _first_read(self) -> float:
        return next(at for at, each in self.inside if each.bytes)


def wide(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same orders with a long field that nobody asks for."""
    pad = f', "note": "{"x" * BYTES_PER_ORDER}"}}'.encode()
    return [{**each, "value": each["value"][:-1] + pad} for each in records]


def in_small_batches(shop: Shop, records: list[dict[str, Any]]) -> None:
    """As a Java producer sends them. A batch is sent whole to a consumer, whatever size that asks for."""
    producer = Producer({"bootstrap.servers": shop.kafka.bootstrap, "batch.size": 16_384, "linger.ms": 5, **QUIET})
    for each in records:
        producer.produce(shop.topic, **each)
    assert producer.flush(SECONDS) == 0


def limited(shop: Shop, rate: int) -> None:
    contract: dict[str, Any] = deepcopy(CONTRACT)
    contract["spec"]["budget"] = {"bytesPerSecond": rate}
    shop.contract.write_text(json.dumps(contract))


def replay(run: BackfillRun, watch: Onlooker) -> ReplayEnd:
    with run.lease() as lease:
        return run.replay(lease, watch).end


@pytest.mark.long
def test_bytes_of_every_second_stay_within_the_limit_that_holds_then(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop(partitions=1)
    in_small_batches(shop, wide(hours(each=400, partitions=1)))
    shop.live()
    limited(shop, SLOW)
    run = shop.plan(slices=1)
    watch = Throttling(shop=shop, run=run.run_id)
    consumers = Consumers(shop, f"{REPLAY_PREFIX}-{run.run_id}")
    with consumers.sampled():
        assert replay(run, watch) is ReplayEnd.STAGED

    assert watch.request is not None, "it was over before the limit could be changed"
    read = [at for at, each in watch.inside if 0 < each.read < each.planned]
    assert consumers.samples[-1].bytes > 2_000_000, "the consumer has counted what it received"
    assert SLOW * USED <= consumers.most(0, watch.request) <= SLOW * TOLERANCE
    assert FAST * USED <= consumers.most(watch.request, read[-1]) <= FAST * TOLERANCE


@pytest.mark.long
def test_a_slice_says_how_far_it_is_before_anything_is_committed(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop()
    shop.produce(wide(hours(each=100)))
    shop.live()
    limited(shop, SLOW // 2)
    run = shop.plan(slices=2)
    watch = Throttling(shop=shop, run=run.run_id, after=3600)
    first: list[int] = []
    watch.after_slice = lambda _: first.append(len(watch.inside))
    assert replay(run, watch) is ReplayEnd.STAGED
    before_the_first_commit = [each for _, each in watch.inside[: first[0]]]
    read = [each.read for each in before_the_first_commit if each.step is SlicePhase.READ]
    assert read == sorted(read)
    assert len({each for each in read if 0 < each < run.plan.slices[0].width}) >= 2, read
    assert {each.planned for each in before_the_first_commit} == {run.plan.slices[0].width}


HEADERS = {'"customer",': 'F.col("_headers")[0]["value"].cast("string").alias("customer"),'}
TWO_ROWS = {"return ": "events = events.union(events).distinct()\n    return "}


LONG = [pytest.param(each, marks=pytest.mark.long) for each in ("several passes", "plain consumer")]


@pytest.mark.parametrize("path", ["one pass", "headers", *LONG])
def test_every_way_to_read_a_slice_passes_the_meter(new_shop: Callable[..., Shop], path: str) -> None:
    shop = new_shop(config={"message.timestamp.after.max.ms": str(ABSURD)})
    orders = hours()
    if path == "plain consumer":
        orders[60] = {**orders[60], "timestamp": ABSURD}
    shop.produce([{**each, "headers": [("from", b"h")]} for each in orders])
    shop.live()
    if path in ("headers", "several passes"):
        edit(shop.project_context.folder / "transforms" / "orders.py", HEADERS if path == "headers" else TWO_ROWS)
    run = shop.plan(slices=2)
    assert replay(run, Onlooker()) is ReplayEnd.STAGED
    passed, booked = shop.metered(run)
    # Read twice where the first way does not do.
    assert (passed == booked) if path in ("one pass", "headers") else (passed >= booked > 0)


def test_a_limit_holds_for_all_tasks_together_and_a_new_one_at_once(shop: Shop) -> None:
    """Several tasks of a frame that needs no broker: what a slice's tasks do, and Spark's own reader."""
    session = shop.spark.session
    meter = ReadMeter(session, "rate-limit-test")
    record = ("cast(null as binary) key", "cast(repeat('x', 1000) as binary) value")
    frame = meter.on(session.range(0, 4000, 1, 4).selectExpr(*record), "s")
    meter.limit(SLOW)
    counted: list[Sample] = []
    ended = Event()

    def sample() -> None:
        while not ended.wait(0.05):
            before = time.monotonic()
            size = meter.bytes
            counted.append(Sample(before, time.monotonic(), size))
            if size > 2 * SLOW:
                meter.limit(None)

    thread = Thread(target=sample, daemon=True)
    thread.start()
    try:
        assert frame.count() == 4000
    finally:
        ended.set()
        thread.join()
    slow = [each for each in counted if each.bytes <= 2 * SLOW]
    rates = [
        (last.bytes - first.bytes) / (last.after - first.before)
        for first in slow
        for last in slow
        if last.after - first.before >= WINDOW
    ]
    assert SLOW * USED <= max(rates) <= SLOW * TOLERANCE
    assert (meter.records("s"), meter.bytes) == (4000, 4_000_000)
