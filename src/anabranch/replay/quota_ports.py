"""What a broker quota asks of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.quotas import Quota, QuotaEntity


class QuotaRefusedError(AnabranchError):
    """The cluster answers, and does not let this user set or read quotas; or it has none."""

    code = "kafka.quota-refused"
    exit_code = ExitCode.REFUSED


class BrokerQuotas(Protocol):
    """Quotas of consumers' bytes. Every call raises QuotaRefusedError or KafkaUnreachableError."""

    def cluster(self) -> str:
        """The cluster's id."""

    def all(self) -> Sequence[Quota]:
        """Every quota of consumers' bytes that the cluster has."""

    def read(self, entity: QuotaEntity) -> int | None:
        """The value for exactly this entity; None: it has none."""

    def set(self, entity: QuotaEntity, value: int) -> None:
        """Set it on all brokers. Idempotent."""

    def try_set(self, entity: QuotaEntity, value: int) -> None:
        """As `set`, with every check of the cluster, and without effect."""

    def remove(self, entity: QuotaEntity) -> None:
        """Remove it from all brokers. Idempotent."""

    def request_quotas(self) -> Sequence[QuotaEntity]:
        """Whose requests the cluster limits in the time that they take: consumers are throttled by these quotas too."""

    def leader_bytes(self) -> Mapping[int, int]:
        """Bytes of the replay's range that each broker leads; if sizes are unknown, offsets instead."""
