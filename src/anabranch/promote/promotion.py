"""Promotes an approved run: one commit, or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates.approval.approval import Approval
from anabranch.promote.commit import Act, already_done, commit_once
from anabranch.promote.history import (
    Author,
    BlockedByCommit,
    ClearToPromote,
    StagingBehind,
    classify_range_commits,
    classify_table_commits,
    other_writer,
)
from anabranch.promote.ports import CommitNote, ConcurrentCommitError, PromotionTarget, TargetHistory
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import RunLease
from anabranch.validate.accepted import AcceptedRun

ATTEMPTS = 100
"""Attempts if other writers commit in between. Reading and committing take a fraction of a second."""


class BlockedError(AnabranchError):
    code = "promote.blocked"
    exit_code = ExitCode.CONFLICT


class OtherWriterError(AnabranchError):
    code = "promote.other-writer"
    exit_code = ExitCode.CONFLICT


class StagingChangedError(AnabranchError):
    code = "promote.staging-changed"
    exit_code = ExitCode.CONFLICT


class StagingBehindLiveError(AnabranchError):
    """Live committed to the range with other code: its offsets must be replayed first."""

    code = "promote.behind"
    exit_code = ExitCode.CONFLICT

    def __init__(self, run_id: str, behind: StagingBehind) -> None:
        self.behind = behind
        super().__init__(
            f"Live committed {len(behind.commits)} snapshots after the base that staging of run {run_id} "
            "does not contain.",
            state="The target is unchanged by this command; staging is kept.",
            command=f"anabranch promote {run_id}",
            run=run_id,
        )


@dataclass(frozen=True)
class ApprovalNotRequired:
    """The context requires no approval."""

    context: str


@dataclass(frozen=True)
class ApprovedRun:
    """The input of a promotion: a validated run and its approval."""

    accepted: AcceptedRun
    approval: Approval | ApprovalNotRequired

    @property
    def on_record(self) -> dict[str, object]:
        """For the audit record of the promotion."""
        if isinstance(self.approval, ApprovalNotRequired):
            return {"approval": None}
        return {"approval": self.approval.number, "approved_by": self.approval.by}


@dataclass(frozen=True)
class Promotion:
    """Promotes one run. `staged` are the live commits, by snapshot, whose offsets are in staging already.

    Where the whole table is replaced, `reached` is the end offset of staging by partition.
    """

    lease: RunLease
    target: PromotionTarget
    approved: ApprovedRun
    staging: Staging
    staged: Collection[Head]
    reached: Mapping[int, int] = field(default_factory=dict)

    def __call__(self) -> Head:
        """Promote and return the snapshot. A call after a crash completes or reverts the attempt first."""
        done = already_done(self.lease, self.target, Act.PROMOTE)
        if done is not None:
            # Live's commits after the promotion are in production already; there is nothing to catch up with.
            return done
        self._require_unchanged()
        self._clear()
        return commit_once(self.lease, self.target, Act.PROMOTE, self._promote, self.approved.on_record)

    def behind(self) -> StagingBehind | None:
        """What live committed into the range that staging does not contain; None: the run can be promoted as it is.

        Raises BlockedError if a commit does not record its offsets. Changes nothing.
        """
        try:
            self._clear()
        except StagingBehindLiveError as error:
            return error.behind
        return None

    @property
    def _accepted(self) -> AcceptedRun:
        return self.approved.accepted

    def _promote(self, note: CommitNote) -> Head:
        for _ in range(ATTEMPTS):
            history, verdict = self._clear()
            try:
                return self.target.promote(history, verdict.keep, self.staging, note)
            except ConcurrentCommitError as moved:
                self.lease.check_epoch()
                last = moved
        raise last

    def _clear(self) -> tuple[TargetHistory, ClearToPromote]:
        """The target as it is now. Raises if the run can't be promoted onto it."""
        plan = self._accepted.plan
        history = self.target.history_since(plan.target.base, plan.target.partitions)
        run = self.lease.run_id
        if plan.target.no_live_writer:
            self._require_no_other_writer(history)
        if plan.strategy.whole_table:
            verdict = classify_table_commits(history.commits, run=run, reached=self.reached)
        else:
            verdict = classify_range_commits(
                history.commits,
                run=run,
                code=plan.code,
                staged=self.staged,
                present=history.present,
                windows=plan.strategy.by_windows,
            )
        match verdict:
            case ClearToPromote():
                return history, verdict
            case StagingBehind():
                raise StagingBehindLiveError(self.lease.run_id, verdict)
            case BlockedByCommit(commit):
                raise BlockedError(
                    f"Snapshot {commit.snapshot} of {plan.target.table} changed the range and does not record its "
                    "offsets: a promotion could lose its rows or count them twice.",
                    state="Production unchanged. Staging is kept.",
                    hint="find the writer of that snapshot, then cancel the run and plan again",
                    snapshot=commit.snapshot,
                )

    def _require_no_other_writer(self, history: TargetHistory) -> None:
        """The replay has read to the log's end, so it may have read the records of any other commit too."""
        target, other = self._accepted.plan.target, other_writer(history.commits)
        if other is None:
            return
        writer = "live" if other.author is Author.LIVE else "another writer"
        run = self.lease.run_id
        raise OtherWriterError(
            f"The contract of run {run} says `live: none`, but {writer} committed snapshot {other.snapshot} to "
            f"{target.table} after base snapshot {target.base}. It may hold records that staging holds too: they would "
            "count twice.",
            state="Production unchanged. Staging is kept.",
            hint=f"stop the writer, then `anabranch cancel {run}` and plan again",
            run=run,
            snapshot=other.snapshot,
            base=target.base,
        )

    def _require_unchanged(self) -> None:
        if self.staging.head != self._accepted.head:
            raise StagingChangedError(
                f"Staging of run {self.lease.run_id} has changed since it was validated.",
                state="Production unchanged.",
                command=f"anabranch validate {self.lease.run_id}",
                validated=self._accepted.head,
                now=self.staging.head,
            )
