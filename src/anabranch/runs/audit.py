"""The audit chain: every record carries the hash of the one before it, so that no record changes unseen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

GENESIS = "0" * 64
"""What the first record has for a predecessor."""


@dataclass(frozen=True)
class AuditRecord:
    """One record, its fields exactly as stored: time and details are text, so that nothing is read into them."""

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
        """The record as data, details unfolded; left as text where tampering made them unreadable."""
        try:
            return {**self.__dict__, "details": json.loads(self.details)}
        except ValueError:
            return dict(self.__dict__)


def record_hash(record: AuditRecord) -> str:
    """SHA-256 over every field but the hash itself, in canonical JSON, with the version of this recipe."""
    fields = {name: value for name, value in record.__dict__.items() if name != "hash"}
    # A tampered row may hold what JSON has no word for; its spelling then differs from ours, which is all we need.
    text = json.dumps({"recipe": 1, **fields}, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True)
class Anchor:
    """A point of the chain: how many records there were, and the hash of the last. Kept elsewhere, it is a witness."""

    seq: int
    hash: str


class ChainFlaw(str, Enum):
    ALTERED = "altered"
    """A field of the record was changed."""
    MISSING = "missing"
    """A record was taken out."""
    UNCHAINED = "unchained"
    """The record does not follow the one before it: one of the two was put in, swapped or rewritten."""
    TRUNCATED = "truncated"
    """Records at the end were taken away."""
    APPENDED = "appended"
    """There are records that were not written by the store."""
    REWRITTEN = "rewritten"
    """The chain fits together, and is not the one that was witnessed."""


@dataclass(frozen=True)
class ChainVerdict:
    """What verification found. `head` is the end of the chain as read; the first flaw is named by its record."""

    head: Anchor
    flaw: ChainFlaw | None = None
    seq: int | None = None
    reason: str | None = None

    @property
    def intact(self) -> bool:
        return self.flaw is None

    def as_dict(self) -> dict[str, object]:
        """The verdict as data. Its `head` is what a later verification takes as an anchor."""
        return {
            "intact": self.intact,
            "head": {"seq": self.head.seq, "hash": self.head.hash},
            "flaw": self.flaw.value if self.flaw else None,
            "seq": self.seq,
            "reason": self.reason,
        }


def verify_chain(records: Iterable[AuditRecord], head: Anchor | None, witness: Anchor | None = None) -> ChainVerdict:
    """Walk the records in order of `seq` and stop at the first flaw.

    `head` is the end of the chain as the store remembers it beside the chain; it shows records cut off the end.
    `witness` was exported earlier and kept elsewhere; it shows a chain rewritten together with its head.
    """
    last = Anchor(0, GENESIS)
    for record in records:
        flaw = _flaw_of(record, last, witness)
        if flaw is not None:
            return ChainVerdict(last, *flaw)
        last = Anchor(record.seq, record.hash)
    flaw = _flaw_at_end(last, head, witness)
    return ChainVerdict(last) if flaw is None else ChainVerdict(last, *flaw)


_Found = tuple[ChainFlaw, int, str]


def _flaw_of(record: AuditRecord, last: Anchor, witness: Anchor | None) -> _Found | None:
    expected = last.seq + 1
    if record.seq != expected:
        # Not a number at all, in a database that minds no types, is one more way for the expected one to be gone.
        if isinstance(record.seq, int) and record.seq < expected:
            return ChainFlaw.APPENDED, record.seq, f"record {record.seq} stands before the first"
        return ChainFlaw.MISSING, expected, f"record {expected} is gone; the next is {record.seq}"
    if record.hash != record_hash(record):
        return ChainFlaw.ALTERED, record.seq, "its fields do not give its hash"
    if record.previous != last.hash:
        return ChainFlaw.UNCHAINED, record.seq, f"it does not follow record {last.seq} as that stands now"
    if witness is not None and witness.seq == record.seq and witness.hash != record.hash:
        return ChainFlaw.REWRITTEN, record.seq, "the anchor has another hash for it: it or an earlier one was rewritten"
    return None


def _flaw_at_end(last: Anchor, head: Anchor | None, witness: Anchor | None) -> _Found | None:
    if head is None:
        return ChainFlaw.TRUNCATED, last.seq + 1, "the store's note of where the chain ends is gone"
    if head.seq > last.seq:
        return (
            ChainFlaw.TRUNCATED,
            last.seq + 1,
            f"the store wrote up to record {head.seq}, the chain stops at {last.seq}",
        )
    if head.seq < last.seq:
        return (
            ChainFlaw.APPENDED,
            head.seq + 1,
            f"the store wrote up to record {head.seq}, the chain goes on to {last.seq}",
        )
    if head.hash != last.hash:
        return ChainFlaw.REWRITTEN, last.seq, "the store's note of where the chain ends has another hash for it"
    if witness is not None and witness.seq > last.seq:
        return ChainFlaw.TRUNCATED, last.seq + 1, f"the anchor is record {witness.seq}, the chain stops at {last.seq}"
    return None
