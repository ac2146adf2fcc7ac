"""What a Kafka cluster is and can do, asked without changing anything in it."""

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
"""Once every address has refused us, how long one of them may still change its mind."""
CLIENT_ID = "anabranch-doctor"
_ALL_DOWN = "brokers are down"

# What the protocol offers, by the request that asks for it and the lowest version that will do.
_IDEMPOTENCE = ("InitProducerId", 0)
_TRANSACTIONS = ("EndTxn", 0)
_QUOTAS = ("AlterClientQuotas", 0)
_TOPIC_IDS = ("Metadata", 10)


@dataclass(frozen=True)
class Protocol:
    """What the brokers' protocol tells of them."""

    version: str
    metadata_version: int | None
    """The level the cluster's metadata are finalized at; None before KRaft."""
    idempotence: bool
    transactions: bool
    quotas: bool
    topic_ids: bool
    """Without them a topic deleted and made again can't be told from the one that was planned for."""


@dataclass(frozen=True)
class Cluster:
    id: str
    brokers: tuple[int, ...]
    protocol: Protocol | None
    """None where it can't be asked: the client that knows how has no way to log in with OAUTHBEARER."""
    authorizer: str | None
    """The class that checks ACLs; empty for none, None if this user may not see it."""
    tiered: bool | None
    """Whether the brokers can keep old segments elsewhere; None if this user may not see it."""


def describe_cluster(access: KafkaAccess, seconds: float = SECONDS) -> Cluster:
    """Ask one cluster who it is. One that does not answer in time is an error with the client's last complaint."""
    complaints: list[str] = []
    client = _client(access, complaints)
    found = _answer(client, client.describe_cluster(request_timeout=seconds), access, complaints)
    brokers = tuple(sorted(node.id for node in found.nodes))
    settings = _broker_settings(client, brokers[:1], access, complaints, seconds)
    tiered = settings.get("remote.log.storage.system.enable")
    return Cluster(
        id=found.cluster_id,
        brokers=brokers,
        protocol=ask_protocol(access, seconds) if can_log_in(access) else None,
        authorizer=settings.get("authorizer.class.name"),
        tiered=None if tiered is None else tiered == "true",
    )


def ask_protocol(access: KafkaAccess, seconds: float = SECONDS) -> Protocol:
    """The version and features of the brokers, which the C client knows and does not tell."""
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
"""By name, the levels that are `supported` and `finalized`."""


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
    client: Any, brokers: Iterable[int], access: KafkaAccess, complaints: list[str], seconds: float
) -> dict[str, str]:
    """The settings of these brokers; none if this user may not see them, which is no fault of the cluster."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    asked = [ConfigResource(ResourceType.BROKER, str(broker)) for broker in brokers]
    settings: dict[str, str] = {}
    for answer in client.describe_configs(asked, request_timeout=seconds).values():
        try:
            found = answer.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.CLUSTER_AUTHORIZATION_FAILED:
                raise _unreachable(access, complaints) from error
        else:
            settings |= {name: entry.value for name, entry in found.items() if entry.value is not None}
    return settings


def _client(access: KafkaAccess, complaints: list[str]) -> Any:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    settings = {
        "reconnect.backoff.max.ms": "1000",
        **access.client(CLIENT_ID),
        "log_level": 0,
        "error_cb": lambda error: complaints.append(str(error.str())),
    }
    try:
        return AdminClient(settings)
    except KafkaException as error:  # a certificate that is not there, a key that the password does not open
        raise _unreachable(access, [error.args[0].str()]) from None


def _answer(client: Any, future: Future[Any], access: KafkaAccess, complaints: list[str]) -> Any:
    from confluent_kafka import KafkaException

    deadline = float("inf")  # the request has one of its own
    while not future.done() and time.monotonic() < deadline:
        client.poll(0.05)  # the client complains only while it is polled, and the complaint is the reason to tell
        if any(_ALL_DOWN in each for each in complaints):
            deadline = min(deadline, time.monotonic() + GRACE_SECONDS)
    if not future.done():
        raise _unreachable(access, complaints)
    try:
        return future.result()
    except KafkaException as error:
        raise _unreachable(access, complaints) from error


def _unreachable(access: KafkaAccess, complaints: list[str]) -> KafkaUnreachableError:
    telling = [each for each in complaints if _ALL_DOWN not in each]
    why = f" Its client says: {telling[-1]}" if telling else ""
    return KafkaUnreachableError(
        f"Kafka at {access.bootstrap} did not answer.{why}",
        state=NOTHING_CHANGED,
        hint="check the address, the network and the login in the context's kafka section",
        bootstrap=access.bootstrap,
    )
