"""A real log scanned by its batch headers, compared with what plain consumers of both isolation levels see."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.fixtures.broker import QUIET, SECONDS, KafkaForTests

from anabranch.adapters.kafka import log_scan
from anabranch.adapters.kafka.access import KafkaAccess, Login
from anabranch.adapters.kafka.log_scan import ScanFailedError, ScanPace, scan_log
from anabranch.replay.gaps import Gap, LogEvidence, explain_gap

pytestmark = pytest.mark.kafka
CLIENT = "anabranch-replay-scan"


def transaction(kafka: KafkaForTests, topic: str, sizes: Sequence[int], *, commit: bool, codec: str = "none") -> None:
    """One transaction of several batches."""
    name = kafka.unique_name("tx")
    settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "compression.type": codec, **QUIET}
    producer = Producer(settings)
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    for size in sizes:
        for number in range(size):
            producer.produce(topic, value=f"{name} {number}", partition=0)
        producer.flush(SECONDS)
    (producer.commit_transaction if commit else producer.abort_transaction)(SECONDS)


@pytest.fixture(scope="module")
def topic(kafka: KafkaForTests) -> str:
    """Committed and aborted transactions of every codec, and plain records between them."""
    name = kafka.create_topic(kafka.unique_name("scan"))
    for codec in ("none", "gzip", "lz4", "snappy", "zstd"):
        transaction(kafka, name, [7, 3], commit=True, codec=codec)
        transaction(kafka, name, [4, 6], commit=False, codec=codec)
        kafka.produce(name, [{"value": "plain", "partition": 0}] * 5)
    return name


def scanned(kafka: KafkaForTests, topic: str, start: int, end: int) -> LogEvidence:
    evidence, size = scan_log(KafkaAccess(kafka.bootstrap), CLIENT, topic, {0: (start, end)})
    assert size > 0
    return evidence[0]


def test_every_range_is_told_as_consumers_see_it(kafka: KafkaForTests, topic: str) -> None:
    committed = {record.offset for record in kafka.read_all(topic)}
    all_records = {record.offset for record in kafka.read_all(topic, "read_uncommitted")}
    end = max(all_records) + 1
    assert (len(committed), len(all_records), end) == (75, 125, 135)
    for start, stop in [(0, end), (3, 9), (9, 13), (12, 18), (15, 100), (101, 102), (end - 1, end)]:
        range_ = set(range(start, stop))
        evidence = scanned(kafka, topic, start, stop)
        expected = Gap(control=len(range_ - all_records), aborted=len((all_records - committed) & range_))
        assert explain_gap(len(committed & range_), evidence, compacted_topic=False) == expected


def test_fetches_of_one_batch_each_tell_the_same(kafka: KafkaForTests, topic: str) -> None:
    sizes: list[int] = []
    evidence, size = scan_log(KafkaAccess(kafka.bootstrap), CLIENT, topic, {0: (0, 135)}, ScanPace(1, sizes.append))
    assert evidence[0] == scanned(kafka, topic, 0, 135)
    assert sum(sizes) == size
    assert len(sizes) >= 35, "one for each batch; a slow producer makes a few more batches"


def test_offsets_that_were_deleted_are_lost(kafka: KafkaForTests) -> None:
    name = kafka.create_topic(kafka.unique_name("scan"))
    kafka.produce(name, [{"value": "plain", "partition": 0}] * 20)
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    [deleted] = client.delete_records([TopicPartition(name, 0, 8)]).values()
    deleted.result(SECONDS)
    assert explain_gap(12, scanned_from(kafka, name, 0, 20), compacted_topic=False) == Gap(lost=8)
    assert explain_gap(12, scanned(kafka, name, 8, 20), compacted_topic=False) == Gap()


def scanned_from(kafka: KafkaForTests, topic: str, start: int, end: int) -> LogEvidence:
    evidence, _ = scan_log(KafkaAccess(kafka.bootstrap), CLIENT, topic, {0: (start, end)})
    return evidence[0]


def test_offsets_behind_the_last_stable_one_are_no_evidence(kafka: KafkaForTests) -> None:
    name = kafka.create_topic(kafka.unique_name("scan"))
    kafka.produce(name, [{"value": "plain", "partition": 0}] * 5)
    with pytest.raises(ScanFailedError, match="readable up to offset 5 only, not 9"):
        scanned(kafka, name, 0, 9)


def test_what_cant_be_scanned_is_an_error(kafka: KafkaForTests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_scan, "PATIENCE", 1.0)
    with pytest.raises(ScanFailedError):
        scan_log(KafkaAccess("127.0.0.1:1"), CLIENT, "t", {0: (0, 1)})
    with pytest.raises(ScanFailedError):
        scan_log(KafkaAccess(kafka.bootstrap), CLIENT, kafka.unique_name("no-such"), {0: (0, 1)})
    login = Login("SASL_SSL", "OAUTHBEARER")
    with pytest.raises(ScanFailedError, match="OAUTHBEARER"):
        scan_log(KafkaAccess(kafka.bootstrap, login), CLIENT, "t", {0: (0, 1)})
