"""How large a topic's partitions are on disk, which only the pure Python client can ask."""

from __future__ import annotations

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import can_log_in, python_client

SECONDS = 10.0


def partition_sizes(access: KafkaAccess, client_id: str, topic: str, partitions: tuple[int, ...]) -> dict[int, int]:
    """Bytes by partition, of its largest replica; empty if the cluster does not tell this user."""
    if not can_log_in(access):
        return {}
    kafka = python_client()
    wait = {"bootstrap_timeout_ms": int(SECONDS * 1000), "request_timeout_ms": int(SECONDS * 1000)}
    try:
        with kafka.KafkaAdminClient(**access.kafka_python(client_id), **wait) as client:
            told = client.describe_log_dirs({topic: list(partitions)})
    except kafka.errors.KafkaError:
        # A size is an estimate for people: without it the plan stands as well, and says that it does not know.
        return {}
    sizes: dict[int, int] = {}
    for broker in told:
        for folder in broker["log_dirs"]:
            for each in folder["topics"]:
                for partition in each["partitions"]:
                    number, size = partition["partition_index"], partition["partition_size"]
                    sizes[number] = max(size, sizes.get(number, 0))
    return sizes
