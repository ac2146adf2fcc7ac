"""Tries out on a cluster what a client may do: reading on the topic itself, all else on things of our own.

Whatever is made for it (a topic, a group, a quota) is removed again, and what resists is named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.bounded import ReadRefusedError, bounded_reader, messages
from anabranch.adapters.kafka.groups import consumer_groups
from anabranch.adapters.kafka.progress import GroupProgress
from anabranch.adapters.kafka.python_client import can_log_in, python_client
from anabranch.adapters.kafka.quotas import remove_quota, set_quota
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
AGAIN_SECONDS = 0.2
PROBE_RETENTION_MS = "3600000"
_COMING = "COORDINATOR"
"""Part of the names of errors that pass by themselves."""


class _EndedError(Exception):
    """An operation ended in another way than with an error of the cluster."""

    def __init__(self, outcome: ProbeOutcome, said: str) -> None:
        super().__init__(said)
        self.outcome = outcome
        self.said = said


@dataclass
class CompatibilityProbe:
    """One try-out of a cluster by one user. `unique` names what is made for it."""

    access: KafkaAccess
    topic: str
    group: str
    unique: str
    made: bool = field(default=False, init=False)

    @property
    def scratch(self) -> str:
        return f"{SCRATCH}-{self.unique}"

    @property
    def _client(self) -> dict[str, str]:
        return self.access.client(self.scratch)

    def __call__(self) -> tuple[tuple[Probe, ...], tuple[str, ...]]:
        """What came of each operation, and the names of what could not be removed again.

        KafkaUnreachableError if the cluster stops answering.
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
            probes = tuple(self._tried(operation, needs, act) for operation, needs, act in tries)
        except KafkaUnreachableError:
            raise  # nothing can be removed from it now
        except BaseException:
            tuple(self._remove())
            raise
        return probes, tuple(self._remove())

    def _tried(self, operation: Operation, needs: str, act: Callable[[], None]) -> Probe:
        """KafkaUnreachableError where it failed since the cluster is gone, which says nothing of what it can do."""
        probe = _tried(operation, needs, act)
        if probe.outcome is ProbeOutcome.FAILED:
            require_answer(self._client)
        return probe

    def _consume(self) -> None:
        """Reads the first record that there is, in no group."""
        topic = describe_topic(self._client, self.topic)
        spans = {number: ends for number, ends in offset_ranges(self._client, topic).items() if ends[0] < ends[1]}
        with bounded_reader(self._client) as consumer:
            # Of a topic without records the end is asked for: who may not read is told so there as well.
            asked = spans or dict.fromkeys(topic.partitions, (0, 1))
            if next(messages(consumer, self.topic, asked, SECONDS), None) is None:
                raise _EndedError(ProbeOutcome.FAILED, f"no record of {self.topic} came in {SECONDS:.0f} s")

    def _offsets_by_time(self) -> None:
        from confluent_kafka.admin import OffsetSpec

        list_offsets(self._client, describe_topic(self._client, self.topic), OffsetSpec.for_timestamp(0))

    def _configs(self) -> None:
        if topic_settings(self._client, self.topic) is None:
            raise _EndedError(ProbeOutcome.DENIED, "the settings are not shown")

    def _produce(self) -> None:
        from confluent_kafka import Producer
        from confluent_kafka.admin import NewTopic

        asking = admin(self._client)
        wanted = NewTopic(self.scratch, num_partitions=1, config={"retention.ms": PROBE_RETENTION_MS})
        asking.create_topics([wanted], request_timeout=SECONDS)[self.scratch].result()
        self.made = True
        _send(Producer({**self._client, "log_level": 0, "acks": "all"}), self.scratch)

    def _transactions(self) -> None:
        from confluent_kafka import Producer

        self._require_scratch()
        producer = Producer({**self._client, "log_level": 0, "transactional.id": self.scratch})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.produce(self.scratch, value=b"probe")
        producer.commit_transaction(SECONDS)  # sends first, and says why if that fails

    def _groups(self) -> None:
        """Sees every group and live's own, and may commit progress to one without joining it."""
        consumer_groups(self._client)
        self._see_live_s_group()
        self._require_scratch()
        with GroupProgress(self._client, self.scratch, self.scratch) as progress:
            refused = progress.commit({0: 0})
        if refused is not None:
            raise _EndedError(_denied_or_failed(refused), refused)

    def _see_live_s_group(self) -> None:
        """A group that this user may not see is missing in a list; asked for by its name, it is denied."""
        from confluent_kafka import KafkaError, KafkaException

        asking = admin(self._client)
        try:
            asking.describe_consumer_groups([self.group], request_timeout=SECONDS)[self.group].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                raise

    def _delete_records(self) -> None:
        from confluent_kafka import TopicPartition

        self._require_scratch()
        asking = admin(self._client)
        for answer in asking.delete_records([TopicPartition(self.scratch, 0, 1)], request_timeout=SECONDS).values():
            answer.result()

    def _quotas(self) -> None:
        self._require_python_client("sets quotas")
        set_quota(self.access, self.scratch, consumer_bytes=2**40)
        remove_quota(self.access, self.scratch)

    def _acls(self) -> None:
        """By the Python client: the C one takes a cluster without an authorizer for one without ACLs."""
        self._require_python_client("sees ACLs")
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
            with kafka.KafkaAdminClient(**self.access.kafka_python(self.scratch)) as asking:
                asking.describe_acls(anything)
        except kafka.errors.SecurityDisabledError as error:
            raise _EndedError(ProbeOutcome.ABSENT, "the cluster has no authorizer") from error

    def _require_python_client(self, what: str) -> None:
        if not can_log_in(self.access):
            raise _EndedError(ProbeOutcome.UNTRIED, f"the client that {what} can't log in with OAUTHBEARER")

    def _require_scratch(self) -> None:
        if not self.made:
            raise _EndedError(ProbeOutcome.UNTRIED, "there is no scratch topic to try it on, since none could be made")

    def _remove(self) -> Iterator[str]:
        from confluent_kafka import KafkaError, KafkaException

        asking = admin(self._client)
        removals: list[tuple[str, Any, int]] = [
            (f"group {self.scratch}", asking.delete_consumer_groups, KafkaError.GROUP_ID_NOT_FOUND),
        ]
        if self.made:
            removals.append((f"topic {self.scratch}", asking.delete_topics, KafkaError.UNKNOWN_TOPIC_OR_PART))
        for name, remove, gone in removals:
            try:
                remove([self.scratch], request_timeout=SECONDS)[self.scratch].result()
            except KafkaException as error:
                # A group that was never made can't be told from one that this user may not see.
                denied = error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED
                if error.args[0].code() != gone and not denied:
                    yield name


def _send(producer: Any, topic: str) -> None:
    from confluent_kafka import KafkaException

    refused: list[Any] = []
    producer.produce(topic, value=b"probe", on_delivery=lambda error, _: refused.append(error) if error else None)
    if producer.flush(SECONDS):
        raise _EndedError(ProbeOutcome.FAILED, f"a record was not acknowledged in {SECONDS:.0f} s")
    if refused:
        raise KafkaException(refused[0])


def _tried(operation: Operation, needs: str, act: Callable[[], None]) -> Probe:
    """Again for a while, if the cluster only asks for patience: the first group or transaction finds it unprepared."""
    deadline = time.monotonic() + SECONDS
    while True:
        probe = _tried_once(operation, needs, act)
        waits = probe.outcome is ProbeOutcome.FAILED and _COMING in probe.said
        if not waits or time.monotonic() > deadline:
            return probe
        time.sleep(AGAIN_SECONDS)


def _tried_once(operation: Operation, needs: str, act: Callable[[], None]) -> Probe:
    from confluent_kafka import KafkaException

    kafka = python_client()
    try:
        act()
    except _EndedError as end:
        return Probe(operation, end.outcome, end.said, needs if end.outcome is ProbeOutcome.DENIED else "")
    except (KafkaException, kafka.errors.KafkaError, AnabranchError, ReadRefusedError) as error:
        said = _said(error)
        outcome = _denied_or_failed(said)
        return Probe(operation, outcome, said, needs if outcome is ProbeOutcome.DENIED else "")
    return Probe(operation, ProbeOutcome.WORKS)


def _said(error: BaseException) -> str:
    """The cluster's own words, which our errors carry as their cause."""
    from confluent_kafka import KafkaException

    if isinstance(error, AnabranchError) and error.__cause__ is not None:
        return _said(error.__cause__)
    if isinstance(error, KafkaException):
        return f"{error.args[0].name()}: {error.args[0].str()}"
    if isinstance(error, ReadRefusedError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _denied_or_failed(said: str) -> ProbeOutcome:
    return ProbeOutcome.DENIED if "AUTHORIZATION" in said.upper() else ProbeOutcome.FAILED
