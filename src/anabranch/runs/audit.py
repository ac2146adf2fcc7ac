"""The audit chain: every record carries the hash of the record before it, so that any change can be detected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

GENESIS = "0" * 64
"""The `previous` hash of the first record."""


@dataclass(frozen=True)
class AuditRecord:
    """One record, its fields exactly as stored: time and details stay text, because their spelling is hashed."""

    seq: int
    at: str
    actor: str
    run_id: str | None
    action: str
    from_state: str | None
    to_state: str | None
    epoch: int | None
    details: str
    previous: str
    hash: str

    def as_dict(self) -> dict[str, object]:
        """The record as data, with details parsed; details that are no longer valid JSON stay text."""
        try:
            return {**self.__dict__, "details": json.loads(self.details)}
        except ValueError:
            return dict(self.__dict__)


def record_hash(record: AuditRecord) -> str:
    """SHA-256 over every field but the hash itself, in canonical JSON, with the version of this scheme."""
    fields = {name: value for name, value in record.__dict__.items() if name != "hash"}
    # A tampered row may hold a value that JSON can't express; `repr` then gives another hash, which is the flaw.
    text = json.dumps({"recipe": 1, **fields}, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Anchor:
    """A point of the chain: the number of records and the hash of the last. Stored elsewhere, it detects rewriting."""

    seq: int
    hash: str


class ChainFlaw(str, Enum):
    ALTERED = "altered"
    """A field of the record was changed."""
    MISSING = "missing"
    """A record was deleted."""
    UNCHAINED = "unchained"
    """The record does not carry the hash of the record before it: one of the two was inserted, swapped or rewritten."""
    TRUNCATED = "truncated"
    """Records at the end were deleted."""
    APPENDED = "appended"
    """Records were added that the store did not write."""
    REWRITTEN = "rewritten"
    """The chain is consistent, but its hash differs from the anchor's or the store's."""


@dataclass(frozen=True)
class ChainVerdict:
    """The result of verification. `head` is the end of the chain as read; `seq` is the record of the first flaw."""

    head: Anchor
    flaw: ChainFlaw | None = None
    seq: int | None = None
    reason: str | None = None

    @property
    def intact(self) -> bool:
        return self.flaw is None

    def as_dict(self) -> dict[str, object]:
        """The verdict as data. A later verification takes its `head` as an anchor."""
        return {
            "intact": self.intact,
            "head": {"seq": self.head.seq, "hash": self.head.hash},
            "flaw": self.flaw.value if self.flaw else None,
            "seq": self.seq,
            "reason": self.reason,
        }


def verify_chain(records: Iterable[AuditRecord], head: Anchor | None, witness: Anchor | None = None) -> ChainVerdict:
    """Walk the records in order of `seq` and stop at the first flaw.

    `head` is the end of the chain as the store recorded it; it reveals records deleted at the end.
    `witness` is an anchor exported earlier; it reveals a chain rewritten together with its head.
    """
    last = Anchor(0, GENESIS)
    for record in records:
        flaw = _flaw_of(record, last, witness)
        if flaw is not None:
            return ChainVerdict(last, *flaw)
        last = Anchor(record.seq, record.hash)
    flaw = _flaw_at_end(last, head, witness)
    return ChainVerdict(last) if flaw is None else ChainVerdict(last, *flaw)


_Flaw = tuple[ChainFlaw, int, str]


def _flaw_of(record: AuditRecord, last: Anchor, witness: Anchor | None) -> _Flaw | None:
    expected = last.seq + 1
    if record.seq != expected:
        # SQLite does not enforce column types; a seq that is no number means that the expected record is missing.
        if isinstance(record.seq, int) and record.seq < expected:
            return ChainFlaw.APPENDED, record.seq, f"record {record.seq} precedes the first record"
        return ChainFlaw.MISSING, expected, f"record {expected} is missing; the next is {record.seq}"
    if record.hash != record_hash(record):
        return ChainFlaw.ALTERED, record.seq, "its fields do not match its hash"
    if record.previous != last.hash:
        return ChainFlaw.UNCHAINED, record.seq, f"its previous hash is not the hash of record {last.seq}"
    if witness is not None and witness.seq == record.seq and witness.hash != record.hash:
        return (
            ChainFlaw.REWRITTEN,
            record.seq,
            "its hash differs from the anchor's: this record or an earlier one was rewritten",
        )
    return None


def _flaw_at_end(last: Anchor, head: Anchor | None, witness: Anchor | None) -> _Flaw | None:
    if head is None:
        return ChainFlaw.TRUNCATED, last.seq + 1, "the store's record of the chain's end is missing"
    if head.seq > last.seq:
        return (
            ChainFlaw.TRUNCATED,
            last.seq + 1,
            f"the store wrote {head.seq} records, the chain ends at record {last.seq}",
        )
    if head.seq < last.seq:
        return (
            ChainFlaw.APPENDED,
            head.seq + 1,
            f"the store wrote {head.seq} records, the chain ends at record {last.seq}",
        )
    if head.hash != last.hash:
        return ChainFlaw.REWRITTEN, last.seq, "its hash differs from the store's record of the chain's end"
    if witness is not None and witness.seq > last.seq:
        return (
            ChainFlaw.TRUNCATED,
            last.seq + 1,
            f"the anchor is record {witness.seq}, the chain ends at record {last.seq}",
        )
    return None
