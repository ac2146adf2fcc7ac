"""Taking a promoted run out again: by its files, or by rows where these are no longer files of the table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased, walked_to

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.plan.target_range import Grain, PartitionRange, TargetPart, TimeAxis
from anabranch.promote.history import Author
from anabranch.promote.promotion import ATTEMPTS
from anabranch.promote.rollback import Rollback
from anabranch.promote.target import CommitNote, ConcurrentCommitError, RewrittenError, TargetHistory
from anabranch.replay.staging import Staging
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

RUN = "r1"
PART = PartitionRange(TimeAxis("at", Grain.DAY), 0, 1)


def nothing() -> None:
    """No one comes between."""


@dataclass
class MemoryTable:
    """A table that a run was promoted to. `files` is whether the promoted files are still files of the table."""

    files: bool = True
    commits: list[tuple[str, CommitNote]] = field(default_factory=list)
    tries: int = 0
    before: Callable[[], None] = nothing
    """Happens before each try, and may refuse it."""

    def take_out(self, staging: Staging, note: CommitNote) -> int:
        self.tries += 1
        self.before()
        if not self.files:
            raise RewrittenError("compacted", state="as before", hint="by rows")
        return self._commit("files", note)

    def by_rows(self, staging: Staging, note: CommitNote) -> int:
        return self._commit("rows", note)

    def _commit(self, how: str, note: CommitNote) -> int:
        self.commits.append((how, note))
        return 100 + len(self.commits)

    def landed(self, commit_id: str) -> int | None:
        ids = [note.id for _, note in self.commits]
        return 101 + ids.index(commit_id) if commit_id in ids else None

    def survey(self, base: int, partitions: TargetPart) -> TargetHistory:
        raise AssertionError("a rollback needs no look at what came since")

    def join_in(self, survey: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> int:
        raise AssertionError


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
    return Rollback(lease, table, Staging(RUN, lease.epoch, 41, PART), table.by_rows)


def outcomes(lease: RunLease) -> list[Outcome | None]:
    return [each.outcome for each in lease.reader.journal(RUN) if each.step == "rollback"]


def moved() -> None:
    raise ConcurrentCommitError("moved", state="as before", hint="look again")


@pytest.mark.parametrize(("files", "how"), [(True, "files"), (False, "rows")])
def test_by_files_where_they_are_there_and_else_by_rows(
    lease: RunLease, table: MemoryTable, files: bool, how: str
) -> None:
    table.files = files
    snapshot = rollback(lease, table)()
    [(taken, note)] = table.commits
    assert (taken, snapshot, note.author, note.run, note.epoch) == (how, 101, Author.ROLLBACK, RUN, lease.epoch)
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


@pytest.mark.parametrize("files", [True, False])
def test_whoever_was_superseded_neither_tries_again_nor_goes_by_rows(
    store: SqlRunStore, lease: RunLease, table: MemoryTable, files: bool
) -> None:
    """To a zombie the promoted files are gone since a later epoch has rolled back already."""
    table.files = files

    def overtaken() -> None:
        store.writer.acquire(RUN, "host-b:2", timedelta(minutes=1), actor="bob", take_over=True)
        if files:
            moved()

    table.before = overtaken
    with pytest.raises(SupersededError):
        rollback(lease, table)()
    assert (table.tries, table.commits) == (1, [])


@pytest.mark.parametrize("took_effect", [True, False])
def test_after_a_crash_it_finishes_or_backs_out_and_does_it(
    store: SqlRunStore, lease: RunLease, table: MemoryTable, took_effect: bool
) -> None:
    class Killed(BaseException):
        """As if the process had gone: nothing of ours handles it."""

    def killed(staging: Staging, note: CommitNote) -> int:
        if took_effect:
            table.by_rows(staging, note)
        raise Killed

    table.files = False
    with pytest.raises(Killed):
        Rollback(lease, table, Staging(RUN, lease.epoch, 41, PART), killed)()
    assert lease.run.state is State.ROLLING_BACK

    again = RunLease(store.reader, store.writer, RUN, leased(store).epoch, "ada")
    rollback(again, table)()
    assert len(table.commits) == 1
    assert again.run.state is State.ROLLED_BACK
    assert outcomes(again) == ([Outcome.SUCCEEDED] if took_effect else [Outcome.FAILED, Outcome.SUCCEEDED])
