"""Client quotas of Kafka brokers: which of them applies to a client, and what of a rate one broker may send. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.project.quantities import format_rate

DEFAULT = "<default>"
"""Kafka's name for the entity of all users, or of all client ids, without a quota of their own."""
FLOOR = 1_000_000
"""Bytes per second. Below it brokers answer so late that consumers time out; the client's limit goes lower."""


@dataclass(frozen=True)
class QuotaEntity:
    """Whose bytes a quota counts together. None: this part is not specified."""

    user: str | None
    client_id: str | None

    @property
    def rank(self) -> int:
        """Kafka's order of precedence: of all quotas that match a client, only the one with the lowest rank counts."""
        return _RANKS.index((_kind(self.user), _kind(self.client_id)))

    def matches(self, user: str | None, client_id: str) -> bool:
        """Whether it covers a client. Where the client's user is unknown, a quota of a named user does not match."""
        return self.user in (None, DEFAULT, user) and self.client_id in (None, DEFAULT, client_id)

    @property
    def words(self) -> str:
        parts = (("user", self.user), ("client-id", self.client_id))
        return ", ".join(f"{kind} {name}" for kind, name in parts if name is not None)

    def document(self) -> dict[str, Any]:
        return {"user": self.user, "client_id": self.client_id}


def _kind(name: str | None) -> str:
    return "absent" if name is None else "default" if name == DEFAULT else "named"


_RANKS = (
    ("named", "named"),
    ("named", "default"),
    ("named", "absent"),
    ("default", "named"),
    ("default", "default"),
    ("default", "absent"),
    ("absent", "named"),
    ("absent", "default"),
)


@dataclass(frozen=True)
class Quota:
    """The bytes per second that each broker sends to an entity's consumers."""

    entity: QuotaEntity
    value: int

    @property
    def words(self) -> str:
        return f"{format_rate(self.value)} per broker for {self.entity.words}"

    def document(self) -> dict[str, Any]:
        return {**self.entity.document(), "bytes_per_second": self.value}


def matching(quotas: Iterable[Quota], user: str | None, client_id: str) -> list[Quota]:
    """The quotas that match a client, in the order of precedence: only the first counts."""
    return sorted((q for q in quotas if q.entity.matches(user, client_id)), key=lambda each: each.entity.rank)


def per_broker(bytes_per_second: int, leader_bytes: Mapping[int, int]) -> int:
    """What one broker may send, for a rate over all brokers.

    A quota has one value for all brokers. It is the rate's share of the broker that leads the most bytes: with less,
    that broker would hold the replay below its rate; with more, it would send more than the rate needs of it. Brokers
    that lead less could send as much, so their sum may exceed the rate: the client's limit holds the sum.
    """
    total = sum(leader_bytes.values())
    share = max(leader_bytes.values()) / total if total else 1.0
    return max(FLOOR, math.ceil(bytes_per_second * share))


@dataclass(frozen=True)
class QuotaForecast:
    """What the brokers can do to hold a replay to a rate, as read without changing anything."""

    enabled: bool
    """`kafka.quota` of the context."""
    entity: QuotaEntity | None = None
    refused: str | None = None
    """Why a quota can't be set; None: the brokers accepted a trial that changes nothing."""
    unreadable: str | None = None
    """Why the quotas can't be read."""
    others: tuple[Quota, ...] = ()
    """The quotas of others that match the replay, in the order of precedence; without a known user only those of all
    users."""
    value: int | None = None
    """What would be set for the contract's rate; None: the contract has none."""

    @property
    def others_hold(self) -> Quota | None:
        """The quota of an operator that applies and is not above ours: it is left to hold the replay."""
        first = self.others[0] if self.others else None
        return first if first is not None and (self.value is None or first.value <= self.value) else None

    @property
    def words(self) -> str:
        others = f"; applies already: {self.others[0].words}" if self.others else ""
        if not self.enabled:
            return f"none (kafka.quota: false): only the client limits the replay{others}"
        if self.refused is not None:
            return f"none: only the client limits the replay; {self.refused}{others}"
        if self.others_hold is not None and self.value is not None:
            return f"{self.others_hold.words} applies already and is not higher; none is set beside it"
        entity = "" if self.entity is None else f" for {self.entity.words}"
        unknown = "" if self.unreadable is None else f"; quotas of others are unknown: {self.unreadable}"
        if self.value is None:
            return f"set{entity} while a limit applies; the contract has no byte rate{others}{unknown}"
        return f"{format_rate(self.value)} on each broker{entity}, removed at the end{others}{unknown}"

    def document(self) -> dict[str, Any]:
        return {
            "enabled": self.enabled,
            "entity": None if self.entity is None else self.entity.document(),
            "bytes_per_second_per_broker": self.value,
            "refused": self.refused,
            "unreadable": self.unreadable,
            "others": [each.document() for each in self.others],
            "words": self.words,
        }
