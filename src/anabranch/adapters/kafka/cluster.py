"""Reads identity, version, features and settings of a Kafka cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import can_log_in, python_client
from anabranch.adapters.kafka.topics import KafkaUnreachableError
from anabranch.errors import NOTHING_CHANGED

SECONDS = 10.0
GRACE_SECONDS = 2.0
"""How long to wait for an answer after every address has refused a connection."""
CLIENT_ID = "anabranch-doctor"
_ALL_DOWN = "brokers are down"

# Features of the protocol: the request and its lowest version that supports them.
_IDEMPOTENCE = ("InitProducerId", 0)
_TRANSACTIONS = ("EndTxn", 0)
_QUOTAS = ("AlterClientQuotas", 0)
_TOPIC_IDS = ("Metadata", 10)


@dataclass(frozen=True)
class Protocol:
    """Version and features of the brokers, by their protocol."""

    version: str
    metadata_version: int | None
    """The finalized `metadata.version`; None without KRaft."""
    idempotence: bool
    transactions: bool
    quotas: bool
    topic_ids: bool
    """Without topic ids a recreated topic cannot be distinguished from the one that was planned for."""


@dataclass(frozen=True)
class Cluster:
    id: str
    brokers: tuple[int, ...]
    protocol: Protocol | None
    """None with OAUTHBEARER: the client that can ask for it cannot log in."""
    authorizer: str | None
    """The authorizer class; empty if there is none, None if this user may not read broker settings."""
    tiered: bool | None
    """Whether tiered storage is enabled; None if this user may not read broker settings."""


def describe_cluster(access: KafkaAccess, seconds: float = SECONDS) -> Cluster:
    """Describe the cluster. Raises KafkaUnreachableError with the client's last error if it does not answer in time."""
    client_errors: list[str] = []
    client = _client(access, client_errors)
    description = _answer(client, client.describe_cluster(request_timeout=seconds), access, client_errors)
    brokers = tuple(sorted(node.id for node in description.nodes))
    settings = _broker_settings(client, brokers[:1], access, client_errors, seconds)
    tiered = settings.get("remote.log.storage.system.enable")
    return Cluster(
        id=description.cluster_id,
        brokers=brokers,
        protocol=ask_protocol(access, seconds) if can_log_in(access) else None,
        authorizer=settings.get("authorizer.class.name"),
        tiered=None if tiered is None else tiered == "true",
    )


def ask_protocol(access: KafkaAccess, seconds: float = SECONDS) -> Protocol:
    """Version and features of the brokers, which the C client does not expose."""
    kafka = python_client()
    wait = {"bootstrap_timeout_ms": int(seconds * 1000), "request_timeout_ms": int(seconds * 1000)}
    try:
        with kafka.KafkaAdminClient(**access.kafka_python(CLIENT_ID), **wait) as client:
            offered = {key.name: versions[1] for key, versions in client.api_versions().items()}
            features = client.describe_features()
            version = ".".join(str(part) for part in client.get_broker_version_data(_any_broker(client)).broker_version)
    except kafka.errors.KafkaError as error:
        raise _unreachable(access, []) from error
    return _protocol(version, offered, features)


def _any_broker(client: Any) -> int:
    brokers: list[dict[str, int]] = client.describe_cluster()["brokers"]
    return brokers[0]["broker_id"]


Features = Mapping[str, Mapping[str, tuple[int, int]]]
"""By feature name: the `supported` and `finalized` levels."""


def _protocol(version: str, offered: Mapping[str, int], features: Features) -> Protocol:
    def offers(wanted: tuple[str, int]) -> bool:
        return offered.get(wanted[0], -1) >= wanted[1]

    finalized = features.get("metadata.version", {}).get("finalized")
    return Protocol(
        version=version,
        metadata_version=None if finalized is None else finalized[1],
        idempotence=offers(_IDEMPOTENCE),
        transactions=offers(_TRANSACTIONS),
        quotas=offers(_QUOTAS),
        topic_ids=offers(_TOPIC_IDS),
    )


def _broker_settings(
    client: Any, brokers: Iterable[int], access: KafkaAccess, client_errors: list[str], seconds: float
) -> dict[str, str]:
    """The settings of these brokers; empty if this user may not read them."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    request = [ConfigResource(ResourceType.BROKER, str(broker)) for broker in brokers]
    settings: dict[str, str] = {}
    for answer in client.describe_configs(request, request_timeout=seconds).values():
        try:
            entries = answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.CLUSTER_AUTHORIZATION_FAILED:
                raise _unreachable(access, client_errors) from error
        else:
            settings |= {name: entry.value for name, entry in entries.items() if entry.value is not None}
    return settings


def _client(access: KafkaAccess, client_errors: list[str]) -> Any:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    settings = {
        "reconnect.backoff.max.ms": "1000",
        **access.client(CLIENT_ID),
        "log_level": 0,
        "error_cb": lambda error: client_errors.append(str(error.str())),
    }
    try:
        return AdminClient(settings)
    except KafkaException as error:  # a missing certificate, or a key with another password
        raise _unreachable(access, [error.args[0].str()]) from None


def _answer(client: Any, future: Future[Any], access: KafkaAccess, client_errors: list[str]) -> Any:
    from confluent_kafka import KafkaException

    deadline = float("inf")  # the request has its own timeout
    while not future.done() and time.monotonic() < deadline:
        client.poll(0.05)  # the client reports errors only while it is polled
        if any(_ALL_DOWN in each for each in client_errors):
            deadline = min(deadline, time.monotonic() + GRACE_SECONDS)
    if not future.done():
        raise _unreachable(access, client_errors)
    try:
        return future.result()
    except KafkaException as error:
        raise _unreachable(access, client_errors) from error


def _unreachable(access: KafkaAccess, client_errors: list[str]) -> KafkaUnreachableError:
    reasons = [each for each in client_errors if _ALL_DOWN not in each]
    reason = f" Client error: {reasons[-1]}" if reasons else ""
    return KafkaUnreachableError(
        f"Kafka at {access.bootstrap} did not answer.{reason}",
        state=NOTHING_CHANGED,
        hint="Check the addresses, the network and the login in the context's kafka section",
        bootstrap=access.bootstrap,
    )
