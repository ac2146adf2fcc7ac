"""Broker quotas on a real broker: who they are for, how they follow an allowance, what is left alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from tests.conformance.run_store.scene import leased, walked_to
from tests.fixtures.broker import QUIET, KafkaForTests, embedded_kafka, eventually
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.kafka.access import KafkaAccess, Login
from anabranch.adapters.kafka.quotas import KafkaQuotas
from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.plan.quotas import DEFAULT, FLOOR, Quota, QuotaEntity
from anabranch.replay.allowance import Allowance
from anabranch.replay.quota_brake import CHECK_SECONDS, METRIC_SECONDS, QuotaBrake
from anabranch.replay.quota_overview import quota_line
from anabranch.replay.quota_steps import CHANGE_SECONDS, WINDOW_SECONDS
from anabranch.replay.quota_sweep import sweep_quotas
from anabranch.runs.quotas import QuotaEnd
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event as RunEvent
from anabranch.runs.states import State

pytestmark = pytest.mark.kafka
MB = 1_000_000
RECORD = bytes(10_000)


def limit(rate: int | None) -> Allowance:
    return Allowance("contract", "budget.bytesPerSecond", rate)


@dataclass
class Scene:
    kafka: KafkaForTests
    store: SqlRunStore
    topic: str
    lease: RunLease
    entity: QuotaEntity
    now: float = 0.0
    throttled_ms: float = 0.0
    notices: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, kafka: KafkaForTests, store: SqlRunStore, topic: str) -> Scene:
        lease = RunLease(store.reader, store.writer, "r1", walked_to(store, State.REPLAYING).epoch, "ada")
        return cls(kafka, store, topic, lease, QuotaEntity("ANONYMOUS", kafka.unique_name("replay")))

    @property
    def brokers(self) -> KafkaQuotas:
        return KafkaQuotas(KafkaAccess(self.kafka.bootstrap), self.topic, {0: ((0, 1),), 1: ((0, 1),)})

    def brake(
        self,
        brokers: KafkaQuotas | None = None,
        clock: Callable[[], float] | None = None,
        throttled_ms: Callable[[], float] | None = None,
    ) -> QuotaBrake:
        """Without its thread the test says when it acts, by a clock of its own."""
        return QuotaBrake(
            self.lease,
            brokers or self.brokers,
            self.entity,
            self.entity.client_id or "",
            self.notices.append,
            throttled_ms or (lambda: self.throttled_ms),
            clock or (lambda: self.now),
        )

    def step(self, brake: QuotaBrake, rate: int | None, after: float = 0.0) -> int | None:
        """The quota at the brokers after the brake has acted on this rate, so many seconds later."""
        self.now += after
        brake.apply(limit(rate))
        brake.step(self.now)
        return self.there()

    def there(self) -> int | None:
        return self.brokers.read(self.entity)

    def is_verified(self) -> bool:
        [record] = self.store.reader.quotas()
        return record.verified_at is not None

    @property
    def status(self) -> str:
        return quota_line(self.store.reader, "r1") or ""

    def settle(self, value: int | None, entity: QuotaEntity | None = None) -> None:
        """What an operator does, until the broker knows of it."""
        of = entity or self.entity
        self.brokers.remove(of) if value is None else self.brokers.set(of, value)
        eventually(lambda: self.brokers.read(of) == value)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def scene(kafka: KafkaForTests, store: SqlRunStore) -> Iterator[Scene]:
    topic = kafka.create_topic(kafka.unique_name("quotas"), 2)
    kafka.produce(topic, [{"value": b"x", "partition": p} for p in (0, 1)])
    opened = Scene.open(kafka, store, topic)
    yield opened
    opened.brokers.remove(opened.entity)


def test_a_quota_is_of_exactly_its_entity(scene: Scene) -> None:
    brokers, client = scene.brokers, scene.entity.client_id
    brokers.try_set(scene.entity, 7 * MB)
    assert scene.there() is None, "a trial changes nothing"
    entities = [scene.entity, QuotaEntity(None, client), QuotaEntity(DEFAULT, client)]
    try:
        for number, each in enumerate(entities, start=1):
            scene.settle(number * MB, each)
        assert [brokers.read(each) for each in entities] == [MB, 2 * MB, 3 * MB]
        found = {each for each in brokers.all() if each.entity.client_id == client}
        assert found == {Quota(each, number * MB) for number, each in enumerate(entities, start=1)}
    finally:
        for each in entities:
            scene.settle(None, each)
    assert not [each for each in brokers.all() if each.entity.client_id == client]


def test_it_is_recorded_before_it_is_set_follows_the_rate_and_is_removed(scene: Scene) -> None:
    brake = scene.brake()
    assert scene.step(brake, 40 * MB) == 40 * MB
    [record] = scene.store.reader.quotas()
    assert (record.value, record.intended, record.epoch) == (40 * MB, None, scene.lease.epoch)
    assert record.set_at is not None
    assert record.intended_at <= record.set_at
    assert record.verified_at is None, "nothing was read, so that nothing was throttled"
    assert scene.step(brake, 2 * MB, after=CHANGE_SECONDS / 2) == 40 * MB, "changed a moment ago"
    assert scene.step(brake, 2 * MB, after=CHANGE_SECONDS) == 20 * MB, "by half at most"
    assert scene.step(brake, 19 * MB, after=CHANGE_SECONDS) == 20 * MB, "not for so little"
    assert scene.step(brake, 30 * MB, after=CHANGE_SECONDS) == 30 * MB
    assert scene.step(brake, FLOOR // 10, after=CHANGE_SECONDS) == 15 * MB
    assert scene.step(brake, None, after=CHANGE_SECONDS) is None
    assert scene.step(brake, 3 * MB) is None, "bytes read without a limit are still in the brokers' window"
    assert scene.step(brake, 3 * MB, after=WINDOW_SECONDS) == 3 * MB
    brake.release()
    eventually(lambda: scene.there() is None)
    assert [each.end for each in scene.store.reader.quotas()] == [QuotaEnd.REMOVED, QuotaEnd.REMOVED]
    acts = [each.action for each in scene.store.reader.audit() if each.action.startswith("quota.")]
    assert acts == ["quota.set", "quota.removed"] * 2
    brake.release()
    assert len(scene.store.reader.quotas()) == 2


def test_a_throttle_time_seen_while_it_is_in_force_verifies_it_once(scene: Scene) -> None:
    brake = scene.brake()
    scene.step(brake, 5 * MB)
    scene.step(brake, 5 * MB, after=1)
    assert not scene.is_verified()
    assert scene.status.endswith("; set and read back; not yet seen to throttle")
    scene.throttled_ms = 120.0
    scene.step(brake, 5 * MB, after=1)
    assert scene.is_verified()
    assert "; verified: brokers throttled the replay by it at " in scene.status
    assert scene.notices[-1] == "Broker quota verified: brokers throttled this replay's fetches, by up to 120 ms."
    told = list(scene.notices)
    scene.step(brake, 5 * MB, after=CHECK_SECONDS)
    assert scene.notices == told
    brake.release()


def test_a_throttle_time_from_before_it_was_set_does_not_verify_it(scene: Scene) -> None:
    """The consumers' metric goes back a minute."""
    brake, scene.throttled_ms = scene.brake(), 120.0
    scene.step(brake, 5 * MB)
    scene.step(brake, 5 * MB, after=METRIC_SECONDS / 2)
    assert not scene.is_verified()
    scene.step(brake, 5 * MB, after=METRIC_SECONDS / 2 + 1)
    assert scene.is_verified()
    brake.release()


def test_under_another_quota_that_throttled_until_then_it_is_verified_a_minute_later(scene: Scene) -> None:
    operators = QuotaEntity("ANONYMOUS", DEFAULT)
    scene.settle(20 * MB, operators)
    try:
        brake = scene.brake()
        scene.step(brake, 5 * MB)
        scene.throttled_ms = 120.0
        scene.step(brake, 5 * MB, after=1)
        assert not scene.is_verified()
        scene.step(brake, 5 * MB, after=METRIC_SECONDS)
        assert scene.is_verified()
        brake.release()
    finally:
        scene.settle(None, operators)


def test_a_quota_of_requests_that_may_have_throttled_leaves_it_unverified(scene: Scene) -> None:
    users = QuotaEntity("ANONYMOUS", None)
    requests = {"key": "request_percentage", "value": 50.0}
    scene.brokers._alter(users, {**requests, "remove": False})
    eventually(lambda: list(scene.brokers.request_quotas()) == [users])
    try:
        brake = scene.brake()
        scene.step(brake, 5 * MB)
        scene.throttled_ms = 120.0
        scene.step(brake, 5 * MB, after=1)
        assert not scene.is_verified()
    finally:
        scene.brokers._alter(users, {**requests, "remove": True})
        eventually(lambda: not scene.brokers.request_quotas())
    scene.step(brake, 5 * MB, after=CHECK_SECONDS)
    assert scene.is_verified()
    brake.release()


def test_its_thread_sets_and_removes_it_whatever_ends_the_replay(scene: Scene) -> None:
    with suppress(KeyboardInterrupt), scene.brake() as brake:
        brake.apply(limit(5 * MB))
        eventually(lambda: scene.there() == 5 * MB)
        raise KeyboardInterrupt
    eventually(lambda: scene.there() is None)


def test_a_paused_run_has_none_and_a_resumed_one_has_it_again(scene: Scene) -> None:
    brake = scene.brake()
    assert scene.step(brake, 5 * MB) == 5 * MB
    scene.lease.transition(RunEvent.PAUSE)
    assert scene.step(brake, 5 * MB, after=CHANGE_SECONDS) is None
    scene.lease.transition(RunEvent.RESUME)
    assert scene.step(brake, 5 * MB, after=CHANGE_SECONDS) == 5 * MB
    brake.release()


@pytest.mark.parametrize("value", [3 * MB, None])
def test_a_quota_that_another_user_changed_is_neither_set_again_nor_removed(scene: Scene, value: int | None) -> None:
    brake = scene.brake()
    scene.step(brake, 5 * MB)
    scene.settle(value)
    assert scene.step(brake, 5 * MB, after=CHECK_SECONDS + 1) == value
    assert scene.step(brake, 50 * MB, after=CHECK_SECONDS + 1) == value
    brake.release()
    assert scene.there() == value
    [record] = scene.store.reader.quotas()
    assert record.end is (QuotaEnd.GONE if value is None else QuotaEnd.CHANGED)
    assert "Only the client limits this replay." in scene.notices[-1]


def test_a_quota_changed_just_before_the_end_is_left(scene: Scene) -> None:
    brake = scene.brake()
    scene.step(brake, 5 * MB)
    scene.settle(6 * MB)
    brake.release()
    assert scene.there() == 6 * MB
    assert "left: another user changed it; its value is 6,000,000 bytes/s" in scene.notices[-1]


def test_an_operator_s_lower_quota_is_left_to_hold_the_replay(scene: Scene) -> None:
    """A quota of the client id below the operator's user would win over it, and lift it."""
    operators = QuotaEntity("ANONYMOUS", DEFAULT)
    scene.settle(4 * MB, operators)
    try:
        brake = scene.brake()
        assert scene.step(brake, 4 * MB) is None
        assert "4.0 MB/s per broker for user ANONYMOUS, client-id <default>" in scene.notices[-1]
        assert scene.step(brake, 3 * MB, after=CHANGE_SECONDS) == 3 * MB, "lower than the operator's"
        brake.release()
    finally:
        scene.settle(None, operators)


def test_a_cluster_that_refuses_leaves_the_client_s_limit_alone(scene: Scene) -> None:
    """As a client without the right gets it: told once, and the replay goes on."""
    token = Login("SASL_SSL", "OAUTHBEARER", "ann", "pw", token_endpoint="https://login.example.com/token")
    brake = scene.brake(KafkaQuotas(KafkaAccess(scene.kafka.bootstrap, token), scene.topic, {0: ((0, 1),)}))
    with brake:
        brake.apply(limit(5 * MB))
        eventually(lambda: bool(scene.notices))
    assert scene.notices == [
        "The client that manages quotas cannot log in with OAUTHBEARER. Only the client limits this replay."
    ]
    assert scene.store.reader.quotas() == []


def test_a_superseded_replay_touches_nothing(scene: Scene) -> None:
    brake = scene.brake()
    scene.step(brake, 5 * MB)
    former = scene.lease
    epoch = leased(scene.store).epoch
    scene.lease = RunLease(former.reader, former.writer, "r1", epoch, "ada")
    [swept] = sweep_quotas(scene.store, lambda: scene.brokers, "ada", _now(), lambda _: False)
    assert (swept.end, swept.record.epoch) == (QuotaEnd.REMOVED, former.epoch)
    eventually(lambda: scene.there() is None)
    successor = scene.brake()
    assert scene.step(successor, 7 * MB, after=CHANGE_SECONDS) == 7 * MB
    brake.release()
    assert scene.there() == 7 * MB, "the quota is the successor's now"
    successor.release()


def test_what_a_living_process_holds_is_no_orphan(scene: Scene) -> None:
    scene.step(scene.brake(), 5 * MB)
    assert sweep_quotas(scene.store, lambda: scene.brokers, "bob", _now(), lambda _: False) == []
    assert scene.there() == 5 * MB
    [swept] = sweep_quotas(scene.store, lambda: scene.brokers, "bob", _now(), lambda _: True)
    assert "Left by run r1: Broker quota for user ANONYMOUS" in swept.words
    eventually(lambda: scene.there() is None)
    assert sweep_quotas(scene.store, lambda: scene.brokers, "bob", _now(), lambda _: True) == []


def _now() -> datetime:
    return datetime.now(timezone.utc)


@contextmanager
def unlimited_reader(scene: Scene, samples: list[tuple[float, dict[str, int]]]) -> Iterator[None]:
    """Reads all partitions over and over as fast as it gets them; samples the bytes received from each broker."""

    def note(text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        samples.append((time.monotonic(), {b["name"]: b["rxbytes"] for b in brokers if b["nodeid"] >= 0}))

    settings = {
        "bootstrap.servers": scene.kafka.bootstrap,
        "group.id": scene.entity.client_id,
        "client.id": scene.entity.client_id,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "statistics.interval.ms": 200,
        "stats_cb": note,
        **QUIET,
    }
    stop = Event()

    def read() -> None:
        consumer = Consumer(settings)
        found = consumer.list_topics(scene.topic, timeout=30).topics[scene.topic].partitions
        consumer.assign([TopicPartition(scene.topic, p, OFFSET_BEGINNING) for p in found])
        while not stop.is_set():
            for message in consumer.consume(1000, 0.2):
                if message.error() is not None:
                    consumer.seek(TopicPartition(scene.topic, message.partition(), OFFSET_BEGINNING))
        consumer.close()

    thread = Thread(target=read, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def require_within(samples: list[tuple[float, int]], rate: int) -> None:
    """What Kafka promises over any time: the rate, and once the bytes of a window at once."""
    for number, (begin, first) in enumerate(samples):
        for end, last in samples[number:]:
            assert last - first <= 1.05 * rate * (end - begin + WINDOW_SECONDS), (begin, end)


@pytest.mark.long
def test_brokers_send_no_more_than_the_quota(kafka: KafkaForTests, store: SqlRunStore) -> None:
    """Also to a reader that has no limit of its own, as that of a slice has that is under way."""
    rate, seconds = 2 * MB, 45
    topic = kafka.create_topic(kafka.unique_name("quotas"), 1)
    kafka.produce(topic, [RECORD] * 4000)
    scene = Scene.open(kafka, store, topic)
    samples: list[tuple[float, dict[str, int]]] = []
    with scene.brake(clock=time.monotonic) as brake:
        brake.apply(limit(rate))
        eventually(lambda: scene.there() == rate)
        with unlimited_reader(scene, samples):
            eventually(lambda: bool(samples) and samples[-1][0] - samples[0][0] > seconds)
        [record] = store.reader.quotas()
    received = [(at, sum(each.values())) for at, each in samples]
    assert received[-1][1] > 0.8 * rate * seconds, "the reader used what it was given"
    require_within(received, rate)
    assert record.value == rate
    eventually(lambda: scene.there() is None)


@pytest.mark.long
@pytest.mark.spark
def test_spark_s_consumers_that_brokers_throttle_verify_the_quota(
    kafka: KafkaForTests, store: SqlRunStore, spark: SparkForTests
) -> None:
    """They have no limit of their own, and read more than the ten seconds' worth that brokers send at once."""
    from anabranch.adapters.spark.source.kafka_source import read_offsets
    from anabranch.adapters.spark.source.read_meter import ReadMeter

    topic = kafka.create_topic(kafka.unique_name("quotas"), 2)
    records = [{"value": RECORD, "partition": number % 2} for number in range(1250)]
    kafka.produce(topic, records)
    scene = Scene.open(kafka, store, topic)
    client_id = scene.entity.client_id or ""

    def read(offsets: int) -> int:
        ranges = {0: (0, offsets), 1: (0, offsets)}
        return read_offsets(
            spark.session, bootstrap=kafka.bootstrap, topic=topic, ranges=ranges, client_id=client_id
        ).count()

    meter = ReadMeter(spark.session, client_id)
    with scene.brake(clock=time.monotonic, throttled_ms=lambda: meter.throttled_ms) as brake:
        brake.apply(limit(MB))
        eventually(lambda: scene.there() == MB)
        assert read(10) == 20
        assert meter.throttled_ms == 0
        assert not scene.is_verified()
        assert read(len(records) // 2) == len(records)
        assert meter.throttled_ms > 0
        eventually(scene.is_verified)
    assert any("Broker quota verified: brokers throttled" in each for each in scene.notices)
    assert ReadMeter(spark.session, f"{client_id}-other").throttled_ms == 0


@pytest.mark.cluster
def test_on_three_brokers_each_may_send_the_share_of_the_largest(tmp_path: Path, store: SqlRunStore) -> None:
    rate, seconds = 10 * MB, 35
    with embedded_kafka(tmp_path, brokers=3) as kafka:
        topic = kafka.create_topic(kafka.unique_name("quotas"), 3)
        for partition, records in enumerate((6000, 3000, 1000)):
            kafka.produce(topic, ({"value": RECORD, "partition": partition} for _ in range(records)))
        scene = Scene.open(kafka, store, topic)
        whole = {0: ((0, 6000),), 1: ((0, 3000),), 2: ((0, 1000),)}
        brokers = KafkaQuotas(KafkaAccess(kafka.bootstrap), topic, whole)
        led = brokers.leader_bytes()
        assert len(led) == 3
        assert max(led.values()) / sum(led.values()) == pytest.approx(0.6, abs=0.05)
        samples: list[tuple[float, dict[str, int]]] = []
        with scene.brake(brokers, time.monotonic) as brake:
            brake.apply(limit(rate))
            eventually(lambda: scene.there() is not None)
            value = scene.there() or 0
            assert value == pytest.approx(0.6 * rate, rel=0.1)
            with unlimited_reader(scene, samples):
                eventually(lambda: bool(samples) and samples[-1][0] - samples[0][0] > seconds)
            [record] = store.reader.quotas()
        for broker in samples[-1][1]:
            received = [(at, each.get(broker, 0)) for at, each in samples]
            assert received[-1][1] > value * 10, "every broker was read from"
            require_within(received, value)
        assert record.value == value
        eventually(lambda: scene.there() is None)
