"""What a run's journal adds up to: slices, offsets, bytes, and the rate of the last slices. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from anabranch.plan.forecast.pricing import READS
from anabranch.replay.ledger import Account
from anabranch.replay.slice_ledger import SliceLedger, total
from anabranch.runs.journal import JournalEntry, Outcome

LAST = 5
"""Of so many slices the rate is measured."""
_SLICE = "slice"
_FINAL = (Outcome.SUCCEEDED, Outcome.FAILED)


@dataclass(frozen=True)
class Recent:
    """The last slices that one process has staged, one after another."""

    offsets: int
    bytes: int
    since: datetime
    """When the first of them was begun."""


@dataclass(frozen=True)
class Tally:
    slices: Mapping[str, int] = field(default_factory=dict)
    """By outcome, controls included. Without open ones: an outcome never changes once it is known."""
    account: Account = field(default_factory=Account)
    """Of the corrected code's slices. A control accounts for the same offsets a second time."""
    bytes: int = 0
    planned: int = 0
    """Offsets of the plan's slices."""
    staged: int = 0
    """Of these, the offsets whose slice was staged."""
    recent: Recent | None = None
    """None: no slice was staged in the present epoch."""
    promoted_at: datetime | None = None


def tally_run(journal: Sequence[JournalEntry], plan: Mapping[str, Any], epoch: int) -> Tally:
    """`plan` is the plan's document: to read it as a plan would take longer than all the rest."""
    widths = {each["id"]: _width(each["offsets"]) for each in plan["slices"]}
    reads = [entry for entry in journal if entry.step in READS]
    staged = [entry for entry in reads if entry.outcome is Outcome.SUCCEEDED]
    ledgers = {entry.id: SliceLedger.read(_ledger(entry)) for entry in staged}
    own = [entry for entry in staged if entry.step == _SLICE]
    return Tally(
        slices=Counter(entry.outcome.value for entry in reads if entry.outcome in _FINAL),
        account=total(ledgers[entry.id] for entry in own)[1],
        bytes=sum(each.bytes for each in ledgers.values()),
        planned=sum(widths.values()),
        staged=sum(widths.get(slice_, 0) for slice_ in {_slice(entry) for entry in own}),
        recent=_recent([entry for entry in own if entry.epoch == epoch], ledgers),
        promoted_at=max(
            (e.settled_at for e in journal if e.step == "promote" and e.outcome is Outcome.SUCCEEDED and e.settled_at),
            default=None,
        ),
    )


def _recent(staged: Sequence[JournalEntry], ledgers: Mapping[str, SliceLedger]) -> Recent | None:
    last = staged[-LAST:]
    if not last:
        return None
    offsets = sum(account.offsets for entry in last for account in ledgers[entry.id].accounts.values())
    return Recent(offsets, sum(ledgers[entry.id].bytes for entry in last), last[0].intended_at)


def _width(offsets: Mapping[str, Sequence[int]]) -> int:
    return sum(end - start for start, end in offsets.values())


def _slice(entry: JournalEntry) -> str:
    return str(entry.details["slice"])


def _ledger(entry: JournalEntry) -> Mapping[str, Any]:
    details: Mapping[str, Any] = entry.outcome_details or {}
    ledger: Mapping[str, Any] = details["ledger"]
    return ledger
