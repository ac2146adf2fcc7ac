"""How large a topic's partitions are on disk, which only the pure Python client can ask."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import can_log_in, python_client

SECONDS = 10.0


def partition_sizes(access: KafkaAccess, client_id: str, topic: str, partitions: tuple[int, ...]) -> dict[int, int]:
    """Bytes by partition, of its largest replica; empty if the cluster does not tell this user."""
    return sizes_of(access, client_id, {topic: partitions}).get(topic, {})


def sizes_of(access: KafkaAccess, client_id: str, topics: Mapping[str, tuple[int, ...]]) -> dict[str, dict[int, int]]:
    """The same of several topics, in one request to each broker."""
    if not can_log_in(access):
        return {}
    kafka = python_client()
    wait = {"bootstrap_timeout_ms": int(SECONDS * 1000), "request_timeout_ms": int(SECONDS * 1000)}
    try:
        with kafka.KafkaAdminClient(**access.kafka_python(client_id), **wait) as client:
            told = client.describe_log_dirs({name: list(partitions) for name, partitions in topics.items()})
    except kafka.errors.KafkaError:
        # A size is an estimate for people: without it the plan stands as well, and says that it does not know.
        return {}
    sizes: dict[str, dict[int, int]] = {}
    for broker in told:
        for folder in broker["log_dirs"]:
            for each in folder["topics"]:
                found = sizes.setdefault(each["name"], {})
                for partition in each["partitions"]:
                    number, size = partition["partition_index"], partition["partition_size"]
                    found[number] = max(size, found.get(number, 0))
    return sizes
