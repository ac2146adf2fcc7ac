"""Checks whether a Kafka cluster answers, with the smallest request of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anabranch.adapters.kafka.topics import admin, unreachable

SECONDS = 4.0


def answering(client: Mapping[str, str], seconds: float = SECONDS) -> Callable[[], bool]:
    """A probe that keeps its connection and returns whether the cluster answers within `seconds`."""
    cluster = admin({"reconnect.backoff.max.ms": "1000", **client})

    def probe() -> bool:
        from confluent_kafka import KafkaException

        try:
            cluster.describe_cluster(request_timeout=seconds).result()
        except KafkaException as error:
            return error.args[0].code() not in _no_answer()  # an error of the cluster is an answer
        return True

    return probe


def require_answer(client: Mapping[str, str]) -> None:
    """Raise KafkaUnreachableError if the cluster does not answer."""
    if not answering(client)():
        raise unreachable(client)


def _no_answer() -> frozenset[int]:
    from confluent_kafka import KafkaError

    return frozenset(
        {
            KafkaError._TRANSPORT,
            KafkaError._TIMED_OUT,
            KafkaError._TIMED_OUT_QUEUE,
            KafkaError._ALL_BROKERS_DOWN,
            KafkaError._RESOLVE,
            KafkaError._NODE_UPDATE,
            KafkaError.REQUEST_TIMED_OUT,
            KafkaError.NETWORK_EXCEPTION,
        }
    )
