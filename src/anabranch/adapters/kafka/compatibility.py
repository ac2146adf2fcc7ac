"""Tests which operations a cluster permits: reads on the topic itself, all others on scratch resources.

The scratch topic, group and quota are removed afterwards; those that cannot be removed are reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.bounded import ReadRefusedError, bounded_reader, messages
from anabranch.adapters.kafka.groups import GroupProgress, consumer_groups
from anabranch.adapters.kafka.python_client import can_log_in, python_client, remove_quota, set_quota
from anabranch.adapters.kafka.topics import (
    KafkaUnreachableError,
    admin,
    describe_topic,
    list_offsets,
    offset_ranges,
    topic_settings,
)
from anabranch.errors import AnabranchError
from anabranch.gates.checks.compatibility import SCRATCH, Operation, Probe, ProbeOutcome

SECONDS = 10.0
RETRY_SECONDS = 0.2
PROBE_RETENTION_MS = "3600000"
_RETRIABLE = "COORDINATOR"
"""Part of the names of errors that pass: the coordinator of a new group or transaction is still loading."""


class _EndedError(Exception):
    """An operation ended without an error of the cluster, and its outcome is known."""

    def __init__(self, outcome: ProbeOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


@dataclass
class CompatibilityProbe:
    """One test of a cluster by one user. `unique` is part of the names of scratch resources."""

    access: KafkaAccess
    topic: str
    group: str
    unique: str
    topic_created: bool = field(default=False, init=False)

    @property
    def scratch(self) -> str:
        return f"{SCRATCH}-{self.unique}"

    @property
    def _client(self) -> dict[str, str]:
        return self.access.client(self.scratch)

    def __call__(self) -> tuple[tuple[Probe, ...], tuple[str, ...]]:
        """The outcome of each operation, and the names of resources that could not be removed.

        Raises KafkaUnreachableError if the cluster stops answering.
        """
        own = f"topic {SCRATCH}-* (prefixed)"
        tries: list[tuple[Operation, str, Callable[[], None]]] = [
            (Operation.CONSUME, f"Read on topic {self.topic}", self._consume),
            (Operation.OFFSETS_BY_TIME, f"Describe on topic {self.topic}", self._offsets_by_time),
            (Operation.CONFIGS, f"DescribeConfigs on topic {self.topic}", self._configs),
            (Operation.PRODUCE, f"Create, Write and Delete on {own}", self._produce),
            (Operation.TRANSACTIONS, f"Write on transactional id {SCRATCH}-* (prefixed)", self._transactions),
            (Operation.GROUPS, f"Describe on group *, Read and Delete on group {SCRATCH}-* (prefixed)", self._groups),
            (Operation.DELETE_RECORDS, f"Delete on {own}", self._delete_records),
            (Operation.QUOTAS, "AlterConfigs and DescribeConfigs on the cluster", self._quotas),
            (Operation.ACLS, "Describe on the cluster", self._acls),
        ]
        try:
            probes = tuple(self._probe(operation, needs, act) for operation, needs, act in tries)
        except KafkaUnreachableError:
            raise  # the scratch resources cannot be removed now
        except BaseException:
            tuple(self._remove())
            raise
        return probes, tuple(self._remove())

    def _probe(self, operation: Operation, needs: str, act: Callable[[], None]) -> Probe:
        """Raises KafkaUnreachableError if the operation failed because the cluster does not answer."""
        probe = _probe_operation(operation, needs, act)
        if probe.outcome is ProbeOutcome.FAILED:
            require_answer(self._client)
        return probe

    def _consume(self) -> None:
        """Reads one record, without a group."""
        topic = describe_topic(self._client, self.topic)
        spans = {number: ends for number, ends in offset_ranges(self._client, topic).items() if ends[0] < ends[1]}
        with bounded_reader(self._client) as consumer:
            # For a topic without records its end is requested: a denied read fails there as well.
            offsets = spans or dict.fromkeys(topic.partitions, (0, 1))
            if next(messages(consumer, self.topic, offsets, SECONDS), None) is None:
                raise _EndedError(ProbeOutcome.FAILED, f"no record of {self.topic} received within {SECONDS:.0f} s")

    def _offsets_by_time(self) -> None:
        from confluent_kafka.admin import OffsetSpec

        list_offsets(self._client, describe_topic(self._client, self.topic), OffsetSpec.for_timestamp(0))

    def _configs(self) -> None:
        if topic_settings(self._client, self.topic) is None:
            raise _EndedError(ProbeOutcome.DENIED, "topic settings are not readable")

    def _produce(self) -> None:
        from confluent_kafka import Producer
        from confluent_kafka.admin import NewTopic

        cluster = admin(self._client)
        new_topic = NewTopic(self.scratch, num_partitions=1, config={"retention.ms": PROBE_RETENTION_MS})
        cluster.create_topics([new_topic], request_timeout=SECONDS)[self.scratch].result()
        self.topic_created = True
        _send(Producer({**self._client, "log_level": 0, "acks": "all"}), self.scratch)

    def _transactions(self) -> None:
        from confluent_kafka import Producer

        self._require_scratch()
        producer = Producer({**self._client, "log_level": 0, "transactional.id": self.scratch})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.produce(self.scratch, value=b"probe")
        producer.commit_transaction(SECONDS)  # flushes first, and raises its error

    def _groups(self) -> None:
        """Describes all groups and live's own, and commits an offset to a group without joining it."""
        consumer_groups(self._client)
        self._describe_live_group()
        self._require_scratch()
        with GroupProgress(self._client, self.scratch, self.scratch) as progress:
            error = progress.commit({0: 0})
        if error is not None:
            raise _EndedError(_denied_or_failed(error), error)

    def _describe_live_group(self) -> None:
        """A list omits groups that this user may not describe; a request by name is denied."""
        from confluent_kafka import KafkaError, KafkaException

        cluster = admin(self._client)
        try:
            cluster.describe_consumer_groups([self.group], request_timeout=SECONDS)[self.group].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise

    def _delete_records(self) -> None:
        from confluent_kafka import TopicPartition

        self._require_scratch()
        cluster = admin(self._client)
        for answer in cluster.delete_records([TopicPartition(self.scratch, 0, 1)], request_timeout=SECONDS).values():
            answer.result()

    def _quotas(self) -> None:
        self._require_python_client("sets quotas")
        set_quota(self.access, self.scratch, consumer_bytes=2**40)
        remove_quota(self.access, self.scratch)

    def _acls(self) -> None:
        """With the Python client: the C client does not distinguish a cluster without an authorizer from one without
        ACLs."""
        self._require_python_client("reads ACLs")
        kafka = python_client()
        from kafka.admin import (
            ACLFilter,
            ACLOperation,
            ACLPermissionType,
            ACLResourcePatternType,
            ResourcePatternFilter,
            ResourceType,
        )

        pattern = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
        anything = ACLFilter(None, "*", ACLOperation.ANY, ACLPermissionType.ANY, pattern)
        try:
            with kafka.KafkaAdminClient(**self.access.kafka_python(self.scratch)) as cluster:
                cluster.describe_acls(anything)
        except kafka.errors.SecurityDisabledError as error:
            raise _EndedError(ProbeOutcome.ABSENT, "the cluster has no authorizer") from error

    def _require_python_client(self, what: str) -> None:
        if not can_log_in(self.access):
            raise _EndedError(ProbeOutcome.UNTRIED, f"the client that {what} cannot log in with OAUTHBEARER")

    def _require_scratch(self) -> None:
        if not self.topic_created:
            raise _EndedError(ProbeOutcome.UNTRIED, "not tested: the scratch topic could not be created")

    def _remove(self) -> Iterator[str]:
        from confluent_kafka import KafkaError, KafkaException

        cluster = admin(self._client)
        removals: list[tuple[str, Any, int]] = [
            (f"group {self.scratch}", cluster.delete_consumer_groups, KafkaError.GROUP_ID_NOT_FOUND),
        ]
        if self.topic_created:
            removals.append((f"topic {self.scratch}", cluster.delete_topics, KafkaError.UNKNOWN_TOPIC_OR_PART))
        for name, remove, gone in removals:
            try:
                remove([self.scratch], request_timeout=SECONDS)[self.scratch].result()
            except KafkaException as error:
                # This error does not tell a group that does not exist from one that this user may not describe.
                denied = error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED
                if error.args[0].code() != gone and not denied:
                    yield name


def _send(producer: Any, topic: str) -> None:
    from confluent_kafka import KafkaException

    refused: list[Any] = []
    producer.produce(topic, value=b"probe", on_delivery=lambda error, _: refused.append(error) if error else None)
    if producer.flush(SECONDS):
        raise _EndedError(ProbeOutcome.FAILED, f"a record was not acknowledged within {SECONDS:.0f} s")
    if refused:
        raise KafkaException(refused[0])


def _probe_operation(operation: Operation, needs: str, act: Callable[[], None]) -> Probe:
    """Retries for 10 s while the coordinator is loading, as for the first group or transaction of a cluster."""
    deadline = time.monotonic() + SECONDS
    while True:
        probe = _probe_once(operation, needs, act)
        retry = probe.outcome is ProbeOutcome.FAILED and _RETRIABLE in probe.answer
        if not retry or time.monotonic() > deadline:
            return probe
        time.sleep(RETRY_SECONDS)


def _probe_once(operation: Operation, needs: str, act: Callable[[], None]) -> Probe:
    from confluent_kafka import KafkaException

    kafka = python_client()
    try:
        act()
    except _EndedError as end:
        return Probe(operation, end.outcome, end.reason, needs if end.outcome is ProbeOutcome.DENIED else "")
    except (KafkaException, kafka.errors.KafkaError, AnabranchError, ReadRefusedError) as error:
        reason = _error_text(error)
        outcome = _denied_or_failed(reason)
        return Probe(operation, outcome, reason, needs if outcome is ProbeOutcome.DENIED else "")
    return Probe(operation, ProbeOutcome.WORKS)


def _error_text(error: BaseException) -> str:
    """The cluster's error, which an AnabranchError has as its cause."""
    from confluent_kafka import KafkaException

    if isinstance(error, AnabranchError) and error.__cause__ is not None:
        return _error_text(error.__cause__)
    if isinstance(error, KafkaException):
        return f"{error.args[0].name()}: {error.args[0].str()}"
    if isinstance(error, ReadRefusedError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _denied_or_failed(error: str) -> ProbeOutcome:
    return ProbeOutcome.DENIED if "AUTHORIZATION" in error.upper() else ProbeOutcome.FAILED
