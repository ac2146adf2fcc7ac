"""Fetches the record batches of a range of offsets and reads their headers, to explain offsets without a record.

Brokers send whole batches, so a scan reads the bytes of the range a second time. It is used only where an offset had
no record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.batch_headers import UnknownFormatError, read_batches
from anabranch.adapters.kafka.python_client import can_log_in, python_client
from anabranch.replay.gaps import FetchedBatches, LogEvidence, read_evidence

PATIENCE = 30.0
"""Seconds without a batch after which a scan fails."""
RETRY_SECONDS = 0.2
EMPTY_FETCHES = 3
"""This many consecutive empty fetches below the last stable offset prove that no batch follows up to it."""
_WAIT_MS = 100
_READ_COMMITTED = 1
_BY_TOPIC_NAME = 12
"""The last version of the fetch request that identifies a topic by name."""


class ScanFailedError(Exception):
    """The log could not be scanned; the gap stays unexplained."""


@dataclass(frozen=True)
class ScanPace:
    """The fetch size, and a callback after each fetch."""

    fetch_bytes: int = 2 << 20
    fetched: Callable[[int], object] = lambda _size: None
    """Called with the size of each fetch; blocks until the next one is allowed."""


UNLIMITED = ScanPace()


class LogScan:
    """Scans partitions of one topic. Joins no group; broker quotas apply by client id."""

    def __init__(self, client: Any, topic: str, pace: ScanPace) -> None:
        self.bytes = 0
        """Bytes received from the brokers."""
        self._client = client
        self._topic = topic
        self._pace = pace
        self._leaders: dict[int, int] = {}

    def evidence(self, partition: int, start: int, end: int) -> LogEvidence:
        """The log's content in [start, end), which must be below the last stable offset."""
        return read_evidence(self._fetched(partition, start, end), start, end)

    def _fetched(self, partition: int, start: int, end: int) -> Iterator[FetchedBatches]:
        reached, empty, last_batch_at = start, 0, time.monotonic()
        while reached < end and empty < EMPTY_FETCHES:
            try:
                answer = self._fetch_again_until(partition, reached, last_batch_at + PATIENCE)
            except python_client().errors.OffsetOutOfRangeError:
                yield FetchedBatches((), (), self._log_start(partition))
                return
            batches = tuple(read_batches(answer.records or b""))
            aborted = tuple((each.producer_id, each.first_offset) for each in answer.aborted_transactions or ())
            yield FetchedBatches(batches, aborted, max(0, answer.log_start_offset))
            if batches:
                reached, empty, last_batch_at = batches[-1].last + 1, 0, time.monotonic()
            elif answer.last_stable_offset < end:
                raise ScanFailedError(
                    f"partition {partition} is readable up to offset {answer.last_stable_offset} only, not {end}"
                )
            else:
                empty += 1

    def _fetch_again_until(self, partition: int, offset: int, deadline: float) -> Any:
        """One fetch, retried until the deadline while a broker does not answer or is not the leader."""
        errors = python_client().errors
        while True:
            try:
                return self._fetch(partition, offset)
            except errors.OffsetOutOfRangeError:
                raise
            except errors.KafkaError as error:
                if not error.retriable or time.monotonic() > deadline:
                    raise ScanFailedError(f"partition {partition} at offset {offset}: {error!r}") from error
                self._leaders.clear()
                time.sleep(RETRY_SECONDS)

    def _fetch(self, partition: int, offset: int) -> Any:
        from kafka.protocol.consumer import FetchRequest

        fetch = FetchRequest.FetchTopic.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=self._pace.fetch_bytes
        )
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=self._pace.fetch_bytes,
            isolation_level=_READ_COMMITTED,
            topics=[FetchRequest.FetchTopic(topic=self._topic, partitions=[fetch])],
            min_version=FetchRequest.min_version_for_isolation_level(_READ_COMMITTED),
            max_version=_BY_TOPIC_NAME,
        )
        manager = self._client._manager
        answer = manager.run(manager.send, request, self._leader(partition))
        if answer.throttle_time_ms:
            time.sleep(answer.throttle_time_ms / 1000)
        [fetched] = answer.responses[0].partitions
        kind = python_client().errors.for_code(fetched.error_code)
        if kind is not python_client().errors.NoError:
            raise kind(f"fetch of {self._topic}, partition {partition}, at offset {offset}")
        size = len(fetched.records or b"")
        self.bytes += size
        self._pace.fetched(size)
        return fetched

    def _leader(self, partition: int) -> int:
        if partition not in self._leaders:
            [topic] = self._client.describe_topics([self._topic])
            self._leaders = {each["partition_index"]: each["leader_id"] for each in topic["partitions"]}
        leader = self._leaders.get(partition, -1)
        if leader < 0:
            raise python_client().errors.LeaderNotAvailableError(f"{self._topic}, partition {partition}")
        return leader

    def _log_start(self, partition: int) -> int:
        from kafka.admin import OffsetSpec

        place = python_client().TopicPartition(self._topic, partition)
        return int(self._client.list_partition_offsets({place: OffsetSpec.EARLIEST})[place].offset)


@contextmanager
def log_scan(access: KafkaAccess, client_id: str, topic: str, pace: ScanPace) -> Iterator[LogScan]:
    """A scanner of the topic. Raises ScanFailedError for any reason that prevents scanning."""
    if not can_log_in(access):
        raise ScanFailedError("the client that reads batch headers cannot log in with OAUTHBEARER")
    kafka = python_client()
    wait = {"bootstrap_timeout_ms": int(PATIENCE * 1000), "request_timeout_ms": int(PATIENCE * 1000)}
    try:
        with kafka.KafkaAdminClient(**access.kafka_python(client_id), **wait) as client:
            yield LogScan(client, topic, pace)
    except (kafka.errors.KafkaError, UnknownFormatError) as error:
        raise ScanFailedError(str(error) or repr(error)) from error


def scan_log(
    access: KafkaAccess, client_id: str, topic: str, ranges: Mapping[int, tuple[int, int]], pace: ScanPace = UNLIMITED
) -> tuple[dict[int, LogEvidence], int]:
    """The log's content in one range of each partition, and how many bytes were read."""
    with log_scan(access, client_id, topic, pace) as scan:
        evidence = {partition: scan.evidence(partition, *each) for partition, each in sorted(ranges.items())}
        return evidence, scan.bytes
