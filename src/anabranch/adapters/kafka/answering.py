"""Whether a Kafka cluster answers, asked with the smallest request there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anabranch.adapters.kafka.topics import admin, unreachable

SECONDS = 4.0


def answering(client: Mapping[str, str], seconds: float = SECONDS) -> Callable[[], bool]:
    """A probe that keeps its connection: whether the cluster answers within `seconds`."""
    asking = admin({"reconnect.backoff.max.ms": "1000", **client})

    def probe() -> bool:
        from confluent_kafka import KafkaException

        try:
            asking.describe_cluster(request_timeout=seconds).result()
        except KafkaException as error:
            return error.args[0].code() not in _silence()  # a refusal is an answer
        return True

    return probe


def require_answer(client: Mapping[str, str]) -> None:
    """KafkaUnreachableError if the cluster does not answer."""
    if not answering(client)():
        raise unreachable(client)


def _silence() -> frozenset[int]:
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
