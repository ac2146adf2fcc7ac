"""What the rooms ask of the run store: one interface to read, another to write."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from anabranch.runs.audit import Anchor, AuditRecord, ChainVerdict
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import Lease
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import Documents, NewRun, Run, RunFault, Submission
from anabranch.runs.states import Event, State


class RunReader(Protocol):
    """Reads what is on record. Every answer is one consistent state; nothing is locked and nothing is changed."""

    def run(self, run_id: str) -> Run:
        """The run, or RunUnknownError."""

    def runs(self, *, states: Collection[State] | None = None, table: str | None = None) -> Sequence[Run]:
        """Runs in the order of their ids, all of them unless narrowed down."""

    def holders(self, target: TargetRange) -> Sequence[Run]:
        """The active runs whose range overlaps `target`."""

    def documents(self, run_id: str) -> Documents:
        """The contract and plan the run was submitted with."""

    def lease(self, run_id: str) -> Lease:
        """The lease as it stands, held or free."""

    def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """Every intent of the run in the order of recording."""

    def open_intents(self, run_id: str) -> Sequence[JournalEntry]:
        """The intents whose effect recovery has to look up: no outcome, or an unknown one."""

    def audit(
        self, *, run_id: str | None = None, action: str | None = None, after: int = 0, limit: int | None = None
    ) -> Sequence[AuditRecord]:
        """Audit records in the order of the chain, beginning after the record `after`; of one run or one action."""

    def verify_audit(self, witness: Anchor | None = None) -> ChainVerdict:
        """Walk the whole chain; `witness` is the head of an earlier verification, kept elsewhere."""


class RunWriter(Protocol):
    """Changes what is on record. Each call is one transaction, audited in that same transaction.

    Whatever changes a run takes the epoch of its lease, and is refused with SupersededError if that is not the
    current one: the check and the change can't be told apart by anybody else.
    """

    def submit(self, new: NewRun, *, actor: str) -> Submission:
        """Create the run and hold its range, or return the run that the same contract already led to.

        RangeHeldError names the run of another contract that holds an overlapping range.
        """

    def acquire(self, run_id: str, holder: str, ttl: timedelta, *, actor: str, take_over: bool = False) -> Lease:
        """Take the lease under the next epoch, if it is free, expired or already this holder's.

        LeaseHeldError names the holder otherwise, unless `take_over` says not to wait for the expiry: safe at any
        time, because the former holder's epoch is refused from then on, and therefore audited as such.
        """

    def renew(self, run_id: str, epoch: int, ttl: timedelta) -> Lease:
        """Put off the expiry to `ttl` from now; the lease never expires earlier for it."""

    def release(self, run_id: str, epoch: int, *, actor: str) -> Lease:
        """Give the lease back. The epoch stays spent."""

    def transition(
        self,
        run_id: str,
        epoch: int,
        event: Event,
        *,
        actor: str,
        details: Mapping[str, object] | None = None,
        fault: RunFault | None = None,
    ) -> Run:
        """Move the run along the transition table. `fault` goes with the event FAIL and with no other."""

    def record_intent(
        self,
        run_id: str,
        epoch: int,
        step: str,
        details: Mapping[str, object] | None = None,
        *,
        intent: str | None = None,
    ) -> JournalEntry:
        """Write down what is about to be done. The same intent again returns the entry that is there."""

    def record_outcome(
        self, intent: str, epoch: int, outcome: Outcome, details: Mapping[str, object] | None = None
    ) -> JournalEntry:
        """Write down what came of an intent, of this epoch or an earlier one.

        The same outcome again changes nothing; an unknown one may become known; a known one never changes.
        """

    def record_act(
        self, action: str, *, actor: str, run_id: str | None = None, details: Mapping[str, object] | None = None
    ) -> AuditRecord:
        """Put on the audit record what changes no run by itself: an override, an approval, an export."""
