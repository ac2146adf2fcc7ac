"""The pure Python client, for what the C client cannot do: read without a group, sizes on disk, and quotas."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess

SECONDS = 10.0
_RATE = "consumer_byte_rate"


def python_client() -> ModuleType:
    """The library, with its log and its deprecation warnings silenced.

    It logs its settings at debug level, passwords included, and warnings to the terminal.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import kafka
        import kafka.errors
    return kafka  # type: ignore[no-any-return]


def can_log_in(access: KafkaAccess) -> bool:
    """Whether this client can log in. It has no way to fetch OAUTHBEARER tokens."""
    return access.login is None or access.login.mechanism != "OAUTHBEARER"


def partition_sizes(access: KafkaAccess, client_id: str, topic: str, partitions: tuple[int, ...]) -> dict[int, int]:
    """Bytes of each partition's largest replica; empty if the cluster does not show sizes to this user."""
    return sizes_of(access, client_id, {topic: partitions}).get(topic, {})


def sizes_of(access: KafkaAccess, client_id: str, topics: Mapping[str, tuple[int, ...]]) -> dict[str, dict[int, int]]:
    """Partition sizes of several topics, with one request to each broker."""
    if not can_log_in(access):
        return {}
    kafka = python_client()
    wait = {"bootstrap_timeout_ms": int(SECONDS * 1000), "request_timeout_ms": int(SECONDS * 1000)}
    try:
        with kafka.KafkaAdminClient(**access.kafka_python(client_id), **wait) as client:
            log_dirs = client.describe_log_dirs({name: list(partitions) for name, partitions in topics.items()})
    except kafka.errors.KafkaError:
        # Sizes are only shown: the plan is valid without them and says that they are unknown.
        return {}
    sizes: dict[str, dict[int, int]] = {}
    for broker in log_dirs:
        for folder in broker["log_dirs"]:
            for each in folder["topics"]:
                by_partition = sizes.setdefault(each["name"], {})
                for partition in each["partitions"]:
                    number, size = partition["partition_index"], partition["partition_size"]
                    by_partition[number] = max(size, by_partition.get(number, 0))
    return sizes


def set_quota(access: KafkaAccess, client_id: str, *, consumer_bytes: int) -> None:
    """Limit the bytes per second that brokers send to clients of this id."""
    _alter(access, client_id, {"key": _RATE, "value": float(consumer_bytes), "remove": False})


def remove_quota(access: KafkaAccess, client_id: str) -> None:
    _alter(access, client_id, {"key": _RATE, "value": 0.0, "remove": True})


def _alter(access: KafkaAccess, client_id: str, operation: dict[str, Any]) -> None:
    kafka = python_client()
    from kafka.protocol.admin import AlterClientQuotasRequest as Request

    entity = Request.EntryData.EntityData(entity_type="client-id", entity_name=client_id)
    entry = Request.EntryData(entity=[entity], ops=[Request.EntryData.OpData(**operation)])
    wait = {"bootstrap_timeout_ms": int(SECONDS * 1000), "request_timeout_ms": int(SECONDS * 1000)}
    with kafka.KafkaAdminClient(**access.kafka_python(client_id), **wait) as client:
        answer = client._manager.run(client._manager.send, Request(entries=[entry], validate_only=False))
    for result in answer.entries:
        kind = kafka.errors.for_code(result.error_code)
        if kind is not kafka.errors.NoError:
            raise kind(result.error_message)
