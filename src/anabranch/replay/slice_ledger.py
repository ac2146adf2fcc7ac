"""The ledger of one slice: what became of every offset, by partition, and how much was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.replay.late import NONE_LATE, LateEvents
from anabranch.replay.ledger import Account


@dataclass(frozen=True)
class SliceLedger:
    bytes: int
    """Keys and values as they came from Kafka, and the record batches that were read again to explain gaps."""
    accounts: Mapping[int, Account]
    late: LateEvents = NONE_LATE

    def document(self) -> dict[str, Any]:
        accounts = {str(p): account.document() for p, account in sorted(self.accounts.items())}
        late = {} if self.late == NONE_LATE else {"late": self.late.document()}
        return {"bytes": self.bytes, "partitions": accounts, **late}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> SliceLedger:
        """The reverse of `document`."""
        accounts = {int(p): Account.read(account) for p, account in document["partitions"].items()}
        late = LateEvents.read(document["late"]) if "late" in document else NONE_LATE
        return cls(document["bytes"], accounts, late)


def total(ledgers: Iterable[SliceLedger]) -> tuple[int, Account]:
    """Bytes and fates of several slices together."""
    bytes_read, account = 0, Account()
    for ledger in ledgers:
        bytes_read += ledger.bytes
        for each in ledger.accounts.values():
            account += each
    return bytes_read, account
