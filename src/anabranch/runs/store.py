"""The ports of the run store: one interface to read, another to write."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

from anabranch.runs.audit import Anchor, AuditRecord, ChainVerdict
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import Lease
from anabranch.runs.pace import Pace
from anabranch.runs.quotas import QuotaEnd, QuotaRecord
from anabranch.runs.ranges import TargetRange
from anabranch.runs.retention import RetentionNote
from anabranch.runs.run import Documents, NewRun, Run, RunFault, Submission
from anabranch.runs.states import Event, State


class RunReader(Protocol):
    """Reads runs. Every answer is one consistent state; nothing is locked or changed."""

    def run(self, run_id: str) -> Run:
        """The run. Raises RunUnknownError."""

    def runs(self, *, states: Collection[State] | None = None, table: str | None = None) -> Sequence[Run]:
        """Runs ordered by id, filtered by states and table if given."""

    def holders(self, target: TargetRange) -> Sequence[Run]:
        """The active runs whose range overlaps `target`."""

    def documents(self, run_id: str) -> Documents:
        """The contract and plan the run was submitted with."""

    def lease(self, run_id: str) -> Lease:
        """The lease, held or free."""

    def journal(self, run_id: str) -> Sequence[JournalEntry]:
        """All intents of the run in the order of recording."""

    def open_intents(self, run_id: str) -> Sequence[JournalEntry]:
        """Intents without an outcome or with an unknown one: recovery has to look up their effect."""

    def open_steps(self, step: str) -> Sequence[JournalEntry]:
        """The same of all runs, whatever their state, for one step, in the order of recording."""

    def audit(
        self, *, run_id: str | None = None, action: str | None = None, after: int = 0, limit: int | None = None
    ) -> Sequence[AuditRecord]:
        """Audit records in the order of the chain, after record `after`; of one run or one action if given."""

    def pace(self, run_id: str) -> Pace | None:
        """What limited the run's replay when its process last noted it; None: it never did."""

    def retention_race(self, run_id: str) -> RetentionNote | None:
        """The race against retention when the run's process last noted it; None: it never did."""

    def quotas(self, *, run_id: str | None = None, only_open: bool = False) -> Sequence[QuotaRecord]:
        """The broker quotas that runs have intended, oldest first; of one run, or those that may still be set."""

    def verify_audit(self, witness: Anchor | None = None) -> ChainVerdict:
        """Verify the whole chain; `witness` is the head of an earlier verification that was stored elsewhere."""


class RunWriter(Protocol):
    """Changes runs. Each call is one transaction, which includes its audit record.

    Every change of a run carries the epoch of its lease and raises SupersededError if that is not the current one;
    check and change are one transaction.
    """

    def submit(self, new: NewRun, *, actor: str) -> Submission:
        """Create the run and hold its range, or return the active run of the same contract. Idempotent.

        Raises RangeHeldError if a run of another contract holds an overlapping range.
        """

    def acquire(self, run_id: str, holder: str, ttl: timedelta, *, actor: str, take_over: bool = False) -> Lease:
        """Take the lease under the next epoch if it is free, expired or already this holder's.

        Raises LeaseHeldError otherwise, unless `take_over` is set. A takeover is safe at any time, because the former
        holder's epoch is refused from then on; it is audited as `lease.take_over`.
        """

    def renew(self, run_id: str, epoch: int, ttl: timedelta) -> Lease:
        """Extend the expiry to `ttl` from now; never shortens it."""

    def release(self, run_id: str, epoch: int, *, actor: str) -> Lease:
        """Release the lease. Its epoch is never used again."""

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
        """Apply `event` by the transition table. `fault` is required for FAIL and forbidden for all others."""

    def record_intent(
        self,
        run_id: str,
        epoch: int,
        step: str,
        details: Mapping[str, object] | None = None,
        *,
        intent: str | None = None,
    ) -> JournalEntry:
        """Record an act before it is done. Idempotent: the same intent returns the existing entry."""

    def record_outcome(
        self, intent: str, epoch: int, outcome: Outcome, details: Mapping[str, object] | None = None
    ) -> JournalEntry:
        """Record the outcome of an intent of this epoch or an earlier one.

        Idempotent. An unknown outcome may become known; a known one never changes (IntentConflictError).
        """

    def note_pace(self, run_id: str, epoch: int, details: Mapping[str, object]) -> None:
        """Replace what limits the run's replay now. Not audited: the row is rewritten every few seconds."""

    def note_retention_race(self, run_id: str, epoch: int, details: Mapping[str, object]) -> None:
        """Replace when retention deletes what the run still needs. Not audited: it is rewritten between slices."""

    def intend_quota(
        self, run_id: str, epoch: int, *, cluster: str, user: str | None, client_id: str, value: int
    ) -> QuotaRecord:
        """Record the value of a broker quota before it is set. One record per epoch as long as it is open."""

    def confirm_quota(self, number: int, epoch: int) -> QuotaRecord:
        """Record that the intended value was read back from the brokers."""

    def verify_quota(self, number: int) -> QuotaRecord:
        """Record that the replay's consumers were seen throttled by this quota. The first time counts."""

    def end_quota(self, number: int, how: QuotaEnd, note: str | None = None) -> QuotaRecord:
        """Record that the quota is not there any more, or is not ours. By any process: an orphan's has ended. The
        first end counts."""

    def record_act(
        self, action: str, *, actor: str, run_id: str | None = None, details: Mapping[str, object] | None = None
    ) -> AuditRecord:
        """Audit an act that changes no run by itself: an override, an approval, an export."""
