"""Checks with a Kafka client whether a broker answers, because a process may run and hang."""

from __future__ import annotations

from anabranch.adapters.embedded.properties import HOST

STATUS_SECONDS = 5.0
START_SECONDS = 2.0


def members(port: int, timeout: float) -> frozenset[int]:
    """The cluster's brokers as known by the one on this port. Empty if it does not answer."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    client = AdminClient(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "log_level": 0,  # a refused connection is expected here and not printed
            "reconnect.backoff.max.ms": 200,
            "socket.timeout.ms": max(10, int(timeout * 1000)),
        }
    )
    try:
        return frozenset(client.list_topics(timeout=timeout).brokers)
    except KafkaException:
        return frozenset()
