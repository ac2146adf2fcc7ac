"""The ledger of one slice: what became of every offset, by partition, and how much was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.replay.ledger import Account


@dataclass(frozen=True)
class SliceLedger:
    bytes: int
    """Keys and values as they came from Kafka."""
    accounts: Mapping[int, Account]

    def document(self) -> dict[str, Any]:
        accounts = {str(p): account.document() for p, account in sorted(self.accounts.items())}
        return {"bytes": self.bytes, "partitions": accounts}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> SliceLedger:
        """The reverse of `document`."""
        accounts = {int(p): Account.read(account) for p, account in document["partitions"].items()}
        return cls(document["bytes"], accounts)


def total(ledgers: Iterable[SliceLedger]) -> tuple[int, Account]:
    """Bytes and fates of several slices together."""
    bytes_read, account = 0, Account()
    for ledger in ledgers:
        bytes_read += ledger.bytes
        for each in ledger.accounts.values():
            account += each
    return bytes_read, account
