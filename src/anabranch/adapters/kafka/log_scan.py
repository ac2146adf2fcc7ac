"""Reads the record batches of a range of offsets as the broker has them, for their headers: what a gap consists of.

A batch can only be had whole, so a scan reads a range's bytes once more. It is done where an offset had no record.
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
AGAIN_SECONDS = 0.2
EMPTY_FETCHES = 3
"""As many fetches without a batch below the last stable offset prove that there is none up to there."""
_WAIT_MS = 100
_READ_COMMITTED = 1
_BY_TOPIC_NAME = 12
"""The last version of the request that names a topic by its name."""


class ScanFailedError(Exception):
    """The log could not be scanned, so that nothing is known of the gap."""


@dataclass(frozen=True)
class ScanPace:
    """How much a scan fetches at once, and whom it tells of it."""

    fetch_bytes: int = 2 << 20
    fetched: Callable[[int], object] = lambda _size: None
    """Called with the size of each fetch; returns when the next one may be made."""


FREELY = ScanPace()


class LogScan:
    """Scans partitions of one topic. It joins no group; quotas bind it by its client id."""

    def __init__(self, client: Any, topic: str, pace: ScanPace) -> None:
        self.bytes = 0
        """How much the brokers have sent."""
        self._client = client
        self._topic = topic
        self._pace = pace
        self._leaders: dict[int, int] = {}

    def evidence(self, partition: int, start: int, end: int) -> LogEvidence:
        """What the log holds in [start, end), which must be below the last stable offset."""
        return read_evidence(self._fetched(partition, start, end), start, end)

    def _fetched(self, partition: int, start: int, end: int) -> Iterator[FetchedBatches]:
        reached, empty, heard = start, 0, time.monotonic()
        while reached < end and empty < EMPTY_FETCHES:
            try:
                answer = self._fetch_again_until(partition, reached, heard + PATIENCE)
            except python_client().errors.OffsetOutOfRangeError:
                yield FetchedBatches((), (), self._log_start(partition))
                return
            batches = tuple(read_batches(answer.records or b""))
            aborted = tuple((each.producer_id, each.first_offset) for each in answer.aborted_transactions or ())
            yield FetchedBatches(batches, aborted, max(0, answer.log_start_offset))
            if batches:
                reached, empty, heard = batches[-1].last + 1, 0, time.monotonic()
            elif answer.last_stable_offset < end:
                raise ScanFailedError(
                    f"partition {partition} is readable up to offset {answer.last_stable_offset} only, not {end}"
                )
            else:
                empty += 1

    def _fetch_again_until(self, partition: int, offset: int, deadline: float) -> Any:
        """The answer of one fetch. A broker that does not answer or is not the leader is asked again until then."""
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
                time.sleep(AGAIN_SECONDS)

    def _fetch(self, partition: int, offset: int) -> Any:
        from kafka.protocol.consumer import FetchRequest

        asked = FetchRequest.FetchTopic.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=self._pace.fetch_bytes
        )
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=self._pace.fetch_bytes,
            isolation_level=_READ_COMMITTED,
            topics=[FetchRequest.FetchTopic(topic=self._topic, partitions=[asked])],
            min_version=FetchRequest.min_version_for_isolation_level(_READ_COMMITTED),
            max_version=_BY_TOPIC_NAME,
        )
        manager = self._client._manager
        answer = manager.run(manager.send, request, self._leader(partition))
        if answer.throttle_time_ms:
            time.sleep(answer.throttle_time_ms / 1000)
        [found] = answer.responses[0].partitions
        kind = python_client().errors.for_code(found.error_code)
        if kind is not python_client().errors.NoError:
            raise kind(f"fetch of {self._topic}, partition {partition}, at offset {offset}")
        size = len(found.records or b"")
        self.bytes += size
        self._pace.fetched(size)
        return found

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
    """A scan of the topic while the context lasts. Whatever keeps it from being done is a ScanFailedError."""
    if not can_log_in(access):
        raise ScanFailedError("the client that reads batch headers can't log in with OAUTHBEARER")
    kafka = python_client()
    wait = {"bootstrap_timeout_ms": int(PATIENCE * 1000), "request_timeout_ms": int(PATIENCE * 1000)}
    try:
        with kafka.KafkaAdminClient(**access.kafka_python(client_id), **wait) as client:
            yield LogScan(client, topic, pace)
    except (kafka.errors.KafkaError, UnknownFormatError) as error:
        raise ScanFailedError(str(error) or repr(error)) from error


def scan_log(
    access: KafkaAccess, client_id: str, topic: str, ranges: Mapping[int, tuple[int, int]], pace: ScanPace = FREELY
) -> tuple[dict[int, LogEvidence], int]:
    """What the log holds in one range of each partition, and how many bytes were read for it."""
    with log_scan(access, client_id, topic, pace) as scan:
        evidence = {partition: scan.evidence(partition, *each) for partition, each in sorted(ranges.items())}
        return evidence, scan.bytes
