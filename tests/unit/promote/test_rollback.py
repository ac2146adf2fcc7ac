"""Rollback over a real run store: one commit of the target, retried after a concurrent one, finished after a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased, walked_to
from tests.unit.promote.target import UncalledTarget, head_of

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis
from anabranch.promote.history import Author
from anabranch.promote.ports import CommitNote, ConcurrentCommitError
from anabranch.promote.promotion import ATTEMPTS
from anabranch.promote.rollback import Rollback
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

RUN = "r1"
PART = PartitionRange(TimeAxis("at", Grain.DAY), 0, 1)


class NotRestorableError(AnabranchError):
    code = "test.not-restorable"


def nothing() -> None:
    """No one comes between."""


@dataclass
class MemoryTable(UncalledTarget):
    """A table that a run was promoted to."""

    commits: list[CommitNote] = field(default_factory=list)
    stagings: list[Staging] = field(default_factory=list)
    tries: int = 0
    before: Callable[[], None] = nothing
    """Happens before each try, and may refuse it."""
    after: Callable[[], None] = nothing
    """Happens after the commit, before its answer."""

    def rollback(self, staging: Staging, note: CommitNote) -> Head:
        self.tries += 1
        self.before()
        self.commits.append(note)
        self.stagings.append(staging)
        self.after()
        return head_of(len(self.commits))

    def find_commit(self, commit_id: str) -> Head | None:
        ids = [note.id for note in self.commits]
        return head_of(1 + ids.index(commit_id)) if commit_id in ids else None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def lease(store: SqlRunStore) -> RunLease:
    return RunLease(store.reader, store.writer, RUN, walked_to(store, State.PROMOTED).epoch, "ada")


@pytest.fixture
def table() -> MemoryTable:
    return MemoryTable()


def rollback(lease: RunLease, table: MemoryTable) -> Rollback:
    return Rollback(lease, table, Staging(RUN, lease.epoch, "ab_r1", head_of(41), PART))


def outcomes(lease: RunLease) -> list[Outcome | None]:
    return [each.outcome for each in lease.reader.journal(RUN) if each.step == "rollback"]


def moved() -> None:
    raise ConcurrentCommitError("moved", state="as before", hint="look again")


def not_restorable() -> None:
    raise NotRestorableError("rows are gone", state="as before", hint="plan again")


def test_a_rollback_is_one_commit_against_this_epoch_s_staging(lease: RunLease, table: MemoryTable) -> None:
    undo = rollback(lease, table)
    head = undo()
    [note] = table.commits
    assert (head, note.author, note.run, note.epoch) == (head_of(1), Author.ROLLBACK, RUN, lease.epoch)
    assert table.stagings == [undo.staging]
    assert (lease.run.state, outcomes(lease)) == (State.ROLLED_BACK, [Outcome.SUCCEEDED])


def test_again_after_success_changes_nothing(store: SqlRunStore, lease: RunLease, table: MemoryTable) -> None:
    snapshot = rollback(lease, table)()
    again = RunLease(store.reader, store.writer, RUN, leased(store).epoch, "ada")
    assert rollback(again, table)() == snapshot
    assert table.tries == len(table.commits) == 1


def test_it_is_tried_again_as_long_as_somebody_commits_in_between(lease: RunLease, table: MemoryTable) -> None:
    table.before = lambda: moved() if table.tries < 4 else None
    rollback(lease, table)()
    assert (table.tries, len(table.commits), outcomes(lease)) == (4, 1, [Outcome.SUCCEEDED])


def test_a_main_that_never_rests_leaves_the_run_promoted(lease: RunLease, table: MemoryTable) -> None:
    table.before = moved
    with pytest.raises(ConcurrentCommitError):
        rollback(lease, table)()
    assert (table.tries, table.commits) == (ATTEMPTS, [])
    assert (lease.run.state, outcomes(lease)) == (State.PROMOTED, [Outcome.FAILED])


@pytest.mark.parametrize("refusal", [moved, not_restorable])
def test_a_superseded_rollback_does_not_retry_and_records_no_outcome(
    store: SqlRunStore, lease: RunLease, table: MemoryTable, refusal: Callable[[], None]
) -> None:
    """Whichever error the target raises: a later epoch may already have rolled back."""

    def overtaken() -> None:
        store.writer.acquire(RUN, "host-b:2", timedelta(minutes=1), actor="bob", take_over=True)
        refusal()

    table.before = overtaken
    with pytest.raises(SupersededError):
        rollback(lease, table)()
    assert (table.tries, table.commits) == (1, [])
    assert (lease.run.state, outcomes(lease)) == (State.ROLLING_BACK, [None])


def test_a_rollback_that_the_target_refuses_leaves_the_run_promoted(lease: RunLease, table: MemoryTable) -> None:
    table.before = not_restorable
    with pytest.raises(NotRestorableError):
        rollback(lease, table)()
    assert (table.tries, table.commits) == (1, []), "only a concurrent commit is a reason to retry"
    assert (lease.run.state, outcomes(lease)) == (State.PROMOTED, [Outcome.FAILED])


@pytest.mark.parametrize("took_effect", [True, False])
def test_after_a_crash_it_finishes_or_backs_out_and_does_it(
    store: SqlRunStore, lease: RunLease, table: MemoryTable, took_effect: bool
) -> None:
    class Killed(BaseException):
        """As if the process had gone: nothing of ours handles it."""

    def killed() -> None:
        raise Killed

    if took_effect:
        table.after = killed
    else:
        table.before = killed
    with pytest.raises(Killed):
        rollback(lease, table)()
    assert (lease.run.state, len(table.commits)) == (State.ROLLING_BACK, int(took_effect))

    table.before = table.after = nothing
    again = RunLease(store.reader, store.writer, RUN, leased(store).epoch, "ada")
    rollback(again, table)()
    assert len(table.commits) == 1
    assert again.run.state is State.ROLLED_BACK
    assert outcomes(again) == ([Outcome.SUCCEEDED] if took_effect else [Outcome.FAILED, Outcome.SUCCEEDED])
