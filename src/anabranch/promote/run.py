"""Promotes a run: catches up with live in rounds, then commits staging to production."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Protocol

from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.plan.steps import CatchUp, Promote, RehearseRollback, steps_for
from anabranch.promote.catch_up import missed, reached
from anabranch.promote.commit import Act, already_done
from anabranch.promote.ports import PromotionTarget
from anabranch.promote.promotion import ApprovedRun, Promotion, StagingBehindLiveError
from anabranch.replay.ledger import CATCH_UP
from anabranch.replay.staged import StagedRun
from anabranch.replay.staging import StagedSlice, Staging, StagingTarget, take_staging
from anabranch.runs.heads import Head
from anabranch.runs.hooks import HookedStep, no_hooks
from anabranch.runs.journal import Outcome
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State
from anabranch.validate.accepted import ValidationResult, ever_accepted, require_accepted

CATCH_UP_ROUNDS = 5
"""Maximum rounds of catching up with live. Each round is shorter than the one before."""
LIVE_PAUSE_SECONDS = 60
"""How long live is requested to pause, if each of its commits has to be replayed before a promotion."""

_CATCHING_UP = frozenset({State.REPLAYING, State.PAUSED, State.FAILED, State.STAGED})
"""The states of an accepted run whose promotion ended while it caught up with live."""
_COMMITTED_OR_COMMITTING = frozenset({State.PROMOTING, State.PROMOTED})


class PromotionGates(Protocol):
    def require_for_promotion(self) -> None:
        """Raise GateClosedError unless rollback is rehearsed on this table and no gate blocks."""

    def rollback_rehearsal_due(self) -> bool:
        """Whether there is no valid evidence of a rehearsed rollback."""

    def rehearse_rollback(self, say: Callable[[str], object]) -> bool:
        """Rehearse promotion and rollback on a scratch branch if that is due. Whether it was."""


class RunTarget(PromotionTarget, StagingTarget, Protocol):
    """A table as the target of staging and of promotion."""


@dataclass(frozen=True)
class PromotionRun:
    lease: RunLease
    plan: Plan
    target: RunTarget
    gates: Callable[[], PromotionGates]
    """Built after drift is checked: a contract whose files are missing does not load."""
    require_no_drift: Callable[[], None]
    require_within_limits: Callable[[], None]
    """Raises if the contract's deadline or budget forbids a promotion now."""
    approve: Callable[[Staging], ApprovedRun]
    """The run as validated and approved. Raises if either is missing."""
    catch_up: Callable[[Sequence[Slice]], StagedRun]
    """Replays slices into staging. Raises CatchUpStoppedError if it was paused or cancelled."""
    validate: Callable[[StagedRun], ValidationResult]
    clock: Callable[[], float]
    """Seconds since 1970."""
    hooks: Callable[[], AbstractContextManager[HookedStep]] = no_hooks
    """Of the context: one before the commit, after approval, and one at the end."""

    def __call__(self) -> Head:
        """Promote and return the snapshot. A call after a crash completes or reverts the attempt first."""
        self.require_no_drift()
        if self.lease.run.state not in _COMMITTED_OR_COMMITTING:
            self.require_within_limits()
            gates = self.gates()
            if gates.rollback_rehearsal_due() or not self._performed(RehearseRollback.name):
                self.rehearse_rollback()
            gates.require_for_promotion()
        try:
            with self.hooks() as hooks:
                snapshot = self._promote_in_rounds(hooks)
                hooks.outcome = "promoted"
        except BaseException:
            with suppress(Exception):  # report the first error; the pause request expires
                self.target.release_live_pause(self.lease.run_id)
            raise
        self.target.release_live_pause(self.lease.run_id)
        return snapshot

    def rehearse_rollback(self, say: Callable[[str], object] = lambda _: None) -> None:
        """Rehearse promotion and rollback on a scratch branch, unless evidence of it on this table is still valid."""
        rehearse_rollback(self.lease, self.plan, self.gates(), say)

    def _promote_in_rounds(self, hooks: HookedStep) -> Head:
        for number in range(CATCH_UP_ROUNDS):
            try:
                return self._catch_up_and_promote(number, hooks)
            except StagingBehindLiveError as error:
                behind = error
        raise behind

    def _catch_up_and_promote(self, number: int, hooks: HookedStep) -> Head:
        """Execute the promotion's steps of the plan. Raises StagingBehindLiveError if live commits meanwhile."""
        self._finish_catching_up()
        self._staging()  # from here on no commit of an earlier epoch can take effect
        done = already_done(self.lease, self.target, Act.PROMOTE)
        if done is not None:
            return done  # resolving an earlier attempt needs no approval
        promoted = None
        for step in steps_for(self.plan, "promote"):
            match step:
                case CatchUp():
                    with self.lease.performing(step.name) as details:
                        details["slices"] = self._catch_up(number)
                case Promote():
                    promotion = self._promotion()
                    hooks.begin()
                    promoted = promotion()
                case _:
                    raise AssertionError(f"step {step.name} is not one of the promotion")
        if promoted is None:
            raise AssertionError(f"the plan of run {self.lease.run_id} has no step that promotes it")
        return promoted

    def _promotion(self) -> Promotion:
        """The promotion of staging as it is now. Raises if that is not validated and approved."""
        staging = self._staging()
        approved = self.approve(staging)
        staged = self._staged(staging)
        caught_up = frozenset[Head]()
        if not self.plan.strategy.whole_table:
            ids = [each.slice_id for each in staged if each.slice_id.startswith(CATCH_UP)]
            caught_up = frozenset(Head(each[len(CATCH_UP) :]) for each in ids)
        return Promotion(self.lease, self.target, approved, staging, caught_up, reached(self.plan, staged))

    def _catch_up(self, number: int) -> int:
        """Replay and validate what live committed into the range that staging does not contain. Returns the slices."""
        promotion = self._promotion()
        behind = promotion.behind()
        if behind is None:
            return 0
        if number:
            # The first round may take long. The later ones are short, so that live can pause for them.
            self.target.request_live_pause(self.lease.run_id, round(self.clock()) + LIVE_PAUSE_SECONDS)
        slices = missed(self.plan, behind.commits, promotion.reached)
        self._validate(self.catch_up(slices))
        return len(slices)

    def _finish_catching_up(self) -> None:
        """Complete the catch-up of an earlier promotion: staging has slices that were not validated."""
        if self.lease.run.state in _CATCHING_UP and ever_accepted(self.lease.reader, self.lease.run_id):
            self._validate(self.catch_up(()))

    def _validate(self, staged: StagedRun) -> None:
        """Raises ValidationRejectedError."""
        require_accepted(self.lease.run_id, self.validate(staged))

    def _staging(self) -> Staging:
        return take_staging(self.lease, self.plan, self.target)

    def _staged(self, staging: Staging) -> list[StagedSlice]:
        return list(self.target.staged_slices(staging.name, self.plan.staging_base))

    def _performed(self, step: str) -> bool:
        journal = self.lease.reader.journal(self.lease.run_id)
        return any(entry.step == step and entry.outcome is Outcome.SUCCEEDED for entry in journal)


def rehearse_rollback(lease: RunLease, plan: Plan, gates: PromotionGates, say: Callable[[str], object]) -> None:
    """Perform the plan's step that rehearses promotion and rollback, and record whether it was measured now."""
    for step in steps_for(plan, "rehearse-rollback"):
        with lease.performing(step.name) as details:
            details["measured"] = gates.rehearse_rollback(say)
