"""Quotas of one client id: set, told and removed. Only the pure Python client speaks that part of the protocol."""

from __future__ import annotations

from typing import Any

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import python_client

SECONDS = 10.0
_RATE = "consumer_byte_rate"


def set_quota(access: KafkaAccess, client_id: str, *, consumer_bytes: int) -> None:
    """The most bytes per second that clients of this id are given."""
    _alter(access, client_id, {"key": _RATE, "value": float(consumer_bytes), "remove": False})


def remove_quota(access: KafkaAccess, client_id: str) -> None:
    _alter(access, client_id, {"key": _RATE, "value": 0.0, "remove": True})


def _alter(access: KafkaAccess, client_id: str, op: dict[str, Any]) -> None:
    kafka = python_client()
    from kafka.protocol.admin import AlterClientQuotasRequest as Request

    entity = Request.EntryData.EntityData(entity_type="client-id", entity_name=client_id)
    entry = Request.EntryData(entity=[entity], ops=[Request.EntryData.OpData(**op)])
    wait = {"bootstrap_timeout_ms": int(SECONDS * 1000), "request_timeout_ms": int(SECONDS * 1000)}
    with kafka.KafkaAdminClient(**access.kafka_python(client_id), **wait) as client:
        answer = client._manager.run(client._manager.send, Request(entries=[entry], validate_only=False))
    for told in answer.entries:
        kind = kafka.errors.for_code(told.error_code)
        if kind is not kafka.errors.NoError:
            raise kind(told.error_message)
