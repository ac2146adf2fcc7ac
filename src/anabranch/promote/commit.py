"""Makes one commit on production with exactly one effect: records the intent, commits, records the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum

from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError
from anabranch.promote.history import Author
from anabranch.promote.outcome import CommitUnrecordedError, OutcomeUnknownError
from anabranch.promote.ports import CommitNote, PromotionTarget
from anabranch.runs.heads import Head
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State


class Act(Enum):
    """The kind of commit: its journal step, its author, and the states it leads through."""

    PROMOTE = ("promote", Author.PROMOTION, Event.PROMOTE, State.PROMOTING, Event.FINISH_PROMOTION, State.PROMOTED)
    ROLL_BACK = (
        "rollback",
        Author.ROLLBACK,
        Event.ROLL_BACK,
        State.ROLLING_BACK,
        Event.FINISH_ROLLBACK,
        State.ROLLED_BACK,
    )

    def __init__(self, step: str, author: Author, begin: Event, underway: State, finish: Event, done: State) -> None:
        self.step = step
        self.author = author
        self.begin = begin
        self.underway = underway
        self.finish = finish
        self.done = done


def commit_once(
    lease: RunLease,
    target: PromotionTarget,
    act: Act,
    perform: Callable[[CommitNote], Head],
    on_record: Mapping[str, object] | None = None,
) -> Head:
    """Call `perform`, which makes one commit, and return its snapshot. A second call after success changes nothing.

    `on_record` is added to the audit record of the first transition.
    An AnabranchError of `perform` means that nothing was committed. After any other error the commit is looked up by
    its id; raises OutcomeUnknownError if it is not found, since it may still take effect, and CommitUnrecordedError if
    it took effect and could not be recorded. A repeated call resolves both.
    """
    done = already_done(lease, target, act)
    if done is not None:
        return done
    # The first transition leaves this state, so an open intent from before it has no effect to look up.
    lease.abandon_intents(act.step, "never begun")
    number, table = lease.number(act.step), lease.run.target.table
    note = CommitNote(f"{lease.run_id}-{act.step}-{number}", act.author, lease.run_id, lease.epoch)
    entry = lease.record_intent(act.step, {"number": number}, intent=note.id)
    lease.transition(act.begin, on_record)
    try:
        reach(f"{act.step}.commit.before")
        snapshot = perform(note)
        reach(f"{act.step}.commit.after")
    except AnabranchError as refused:
        lease.record_outcome(entry, Outcome.FAILED, {"code": refused.code, "what": refused.what})
        lease.transition(Event.BACK_OUT)
        raise
    except Exception as error:
        landed = _look_up(lease, target, entry)
        if landed is None:
            raise OutcomeUnknownError(act.step, note.id, table, lease.run_id) from error
        snapshot = landed
    try:
        _finish(lease, act, entry, snapshot)
    except SupersededError:
        raise
    except AnabranchError as error:
        raise CommitUnrecordedError(act.step, snapshot, table, lease.run_id) from error
    return snapshot


def _look_up(lease: RunLease, target: PromotionTarget, entry: JournalEntry) -> Head | None:
    """The snapshot of this commit, if the table has it. Otherwise the intent stays open for a later call."""
    with suppress(Exception):  # the cause of the failed commit may also fail the lookup
        landed = target.find_commit(entry.id)
        if landed is None:
            lease.record_outcome(entry, Outcome.UNKNOWN)
        return landed
    return None


def already_done(lease: RunLease, target: PromotionTarget, act: Act) -> Head | None:
    """The snapshot, if the commit has taken effect, even if its process died before it recorded that."""
    settled = reconcile(lease, target)
    if lease.run.state is not act.done:
        return None
    return settled if settled is not None else _last(lease, act)


def reconcile(lease: RunLease, target: PromotionTarget) -> Head | None:
    """Resolve a commit that was in progress when its process ended. Returns the snapshot if it took effect.

    Call it only after this epoch's staging branch exists: then a pending commit of an earlier epoch is refused and
    can't take effect after the lookup.
    """
    act = next((each for each in Act if each.underway is lease.run.state), None)
    if act is None:
        return None
    pending = [entry for entry in lease.reader.open_intents(lease.run_id) if entry.step == act.step]
    for entry in pending:
        landed = target.find_commit(entry.id)
        if landed is not None:
            _finish(lease, act, entry, landed)
            return landed
        lease.record_outcome(entry, Outcome.FAILED, {"what": "not found in the table's history"})
    settled = [entry for entry in lease.reader.journal(lease.run_id) if entry.step == act.step]
    if not pending and settled and settled[-1].outcome is Outcome.SUCCEEDED:
        lease.transition(act.finish)
        return _snapshot(settled[-1])
    lease.transition(Event.BACK_OUT)
    return None


def _finish(lease: RunLease, act: Act, entry: JournalEntry, snapshot: Head) -> None:
    lease.record_outcome(entry, Outcome.SUCCEEDED, {"snapshot": snapshot})
    lease.transition(act.finish, {"snapshot": snapshot})


def _last(lease: RunLease, act: Act) -> Head:
    entries = [e for e in lease.reader.journal(lease.run_id) if e.step == act.step and e.outcome is Outcome.SUCCEEDED]
    return _snapshot(entries[-1])


def _snapshot(entry: JournalEntry) -> Head:
    snapshot = (entry.outcome_details or {})["snapshot"]
    if not isinstance(snapshot, str):
        raise TypeError(f"{entry.id} has no snapshot in its outcome")
    return Head(snapshot)
