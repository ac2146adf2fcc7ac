"""Joining a run in, over a real run store and a table in memory whose commits are compared and set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased, walked_to
from tests.unit.promote.target import UncalledTarget, head_of

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.gates.approval.approval import AcceptedStaging, Approval
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import Grain, PartitionRange, TargetPart, TimeAxis, WholeTable
from anabranch.promote.history import Author, Commit, StagingBehind
from anabranch.promote.ports import CommitNote, ConcurrentCommitError, TargetHistory
from anabranch.promote.promotion import ATTEMPTS, ApprovalNotRequired, ApprovedRun, Promotion
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head, Piece
from anabranch.runs.journal import Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State
from anabranch.validate.accepted import AcceptedRun

RUN, BASE, STAGED, CHANGED = "r1", head_of(7), head_of(41), head_of(42)
PART = PartitionRange(TimeAxis("at", Grain.DAY), 0, 1)
OFFSETS = {0: (50, 60)}
PLAN = Plan(
    pipeline="orders",
    contract="c1",
    code="fixed",
    source=PlannedSource("shop.orders", "u1", 1, {0: ((0, 50),)}, {0: 50}),
    target=PlannedTarget("shop.orders", BASE, "schema", PART, None, None),
    slices=(),
)
NO_LIVE = replace(PLAN, target=replace(PLAN.target, no_live_writer=True))
MERGED = replace(PLAN, strategy=Strategy.MERGE_FORWARD, target=replace(PLAN.target, partitions=WholeTable(None)))
WINDOWS = replace(PLAN, strategy=Strategy.WINDOWS)


def live(number: int, code: str = "buggy") -> Commit:
    return Commit(head_of(number), Author.LIVE, None, code, OFFSETS, added=frozenset({Piece(f"live-{number}")}))


def foreign(number: int) -> Commit:
    return Commit(head_of(number), Author.FOREIGN, added=frozenset({Piece(f"foreign-{number}")}))


@dataclass
class MemoryTable(UncalledTarget):
    """A main line that takes a commit only onto the head that was looked at."""

    commits: list[Commit] = field(default_factory=list)
    ids: dict[str, Head] = field(default_factory=dict)
    kept: list[frozenset[str]] = field(default_factory=list)
    looks: int = 0
    between: Callable[[int], None] = lambda _look: None
    """Happens between a look, by its number, and the commit."""

    @property
    def head(self) -> Head:
        return self.commits[-1].snapshot if self.commits else BASE

    def history_since(self, base: Head, partitions: TargetPart) -> TargetHistory:
        assert base == BASE
        self.looks += 1
        return TargetHistory(self.head, tuple(self.commits), frozenset(f for c in self.commits for f in c.added))

    def find_commit(self, commit_id: str) -> Head | None:
        return self.ids.get(commit_id)

    def promote(self, history: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> Head:
        self.between(self.looks)
        if history.head != self.head:
            raise ConcurrentCommitError("moved", state="as before", hint="look again")
        self.kept.append(frozenset(keep))
        snapshot = head_of(9000 + len(self.commits))
        self.commits.append(Commit(snapshot, note.author, note.run, added=frozenset({Piece("promoted")})))
        self.ids[note.id] = snapshot
        return snapshot


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def lease(store: SqlRunStore) -> RunLease:
    return RunLease(store.reader, store.writer, RUN, walked_to(store, State.VALIDATED).epoch, "ada")


def promotion(
    lease: RunLease,
    *commits: Commit,
    plan: Plan = PLAN,
    staged: Collection[Head] = (),
    reached: dict[int, int] | None = None,
    head: Head = STAGED,
    approval: Approval | None = None,
) -> tuple[Promotion, MemoryTable]:
    table = MemoryTable(list(commits))
    approved = ApprovedRun(AcceptedRun(plan, STAGED), approval or ApprovalNotRequired("dev"))
    staging = Staging(RUN, lease.epoch, "ab_r1", head, PART)
    return Promotion(lease, table, approved, staging, staged, reached or {}), table


def outcomes(lease: RunLease) -> list[Outcome | None]:
    return [each.outcome for each in lease.reader.journal(RUN) if each.step == "promote"]


def refused(promote: Promotion) -> AnabranchError:
    with pytest.raises(AnabranchError) as error:
        promote()
    return error.value


def test_a_run_is_joined_in_by_one_commit(lease: RunLease) -> None:
    promote, table = promotion(lease)
    snapshot = promote()
    assert [each.snapshot for each in table.commits] == [snapshot]
    assert (table.commits[0].author, table.commits[0].run) == (Author.PROMOTION, RUN)
    assert (lease.run.state, outcomes(lease)) == (State.PROMOTED, [Outcome.SUCCEEDED])


def test_again_after_success_looks_at_nothing_and_commits_nothing(store: SqlRunStore, lease: RunLease) -> None:
    promote, table = promotion(lease)
    snapshot = promote()
    table.commits.append(foreign(999))
    looks = table.looks
    again = replace(promote, lease=RunLease(store.reader, store.writer, RUN, leased(store).epoch, "ada"))
    assert again() == snapshot
    assert (table.looks, len(table.commits)) == (looks, 2)


def test_who_agreed_is_on_record_with_the_beginning(store: SqlRunStore, lease: RunLease) -> None:
    now = datetime(2025, 7, 1, tzinfo=timezone.utc)
    agreed = Approval(3, "bob", now, now + timedelta(days=1), "p1", "c1", AcceptedStaging(STAGED, "d"), "fine")
    promote, _ = promotion(lease, approval=agreed)
    assert promote.approved.on_record == {"approval": 3, "approved_by": "bob"}
    promote()
    [begun] = [each for each in store.reader.audit(run_id=RUN) if each.action == "run.promote"]
    assert "bob" in begun.details
    assert ApprovedRun(AcceptedRun(PLAN, STAGED), ApprovalNotRequired("dev")).on_record == {"approval": None}


def test_staging_that_changed_since_it_was_validated_is_not_promoted(lease: RunLease) -> None:
    promote, table = promotion(lease, head=CHANGED)
    error = refused(promote)
    assert error.code == "promote.staging-changed"
    assert (error.fields["validated"], error.fields["now"]) == (STAGED, CHANGED)
    assert (table.commits, lease.run.state, outcomes(lease)) == ([], State.VALIDATED, [])


def test_live_rows_by_the_plan_s_own_code_are_kept_beside_the_staged_ones(lease: RunLease) -> None:
    promote, table = promotion(lease, live(8, "fixed"), live(9, "fixed"))
    promote()
    assert table.kept == [frozenset({"live-8", "live-9"})]


def test_live_rows_by_other_code_are_to_be_caught_up_with_first(lease: RunLease) -> None:
    promote, table = promotion(lease, live(8), live(9))
    error = refused(promote)
    assert error.code == "promote.behind"
    assert promote.behind() == StagingBehind((live(8), live(9)))
    assert (table.head, lease.run.state, outcomes(lease)) == (head_of(9), State.VALIDATED, [])

    caught_up, table = promotion(lease, live(8), live(9), staged=[head_of(8), head_of(9)])
    assert caught_up.behind() is None
    caught_up()
    assert table.kept == [frozenset()]


def test_a_commit_that_says_nothing_of_its_records_blocks(lease: RunLease) -> None:
    promote, table = promotion(lease, live(8, "fixed"), foreign(9))
    error = refused(promote)
    assert (error.code, error.fields["snapshot"]) == ("promote.blocked", head_of(9))
    with pytest.raises(AnabranchError) as again:
        promote.behind()
    assert again.value.code == "promote.blocked"
    assert (table.head, lease.run.state, outcomes(lease)) == (head_of(9), State.VALIDATED, [])


def test_windows_that_live_wrote_into_after_the_base_block(lease: RunLease) -> None:
    promote, _ = promotion(lease, live(8, "fixed"), plan=WINDOWS)
    assert refused(promote).code == "promote.blocked"


@pytest.mark.parametrize("other", [live(8, "fixed"), foreign(8)])
def test_where_the_contract_says_that_nothing_else_writes_any_writer_is_refused(lease: RunLease, other: Commit) -> None:
    promote, table = promotion(lease, other, plan=NO_LIVE)
    error = refused(promote)
    assert (error.code, error.fields["snapshot"]) == ("promote.other-writer", head_of(8))
    assert (table.head, lease.run.state) == (head_of(8), State.VALIDATED)
    promote, table = promotion(lease, Commit(head_of(8), Author.REWRITE, added=frozenset({Piece("x")})), plan=NO_LIVE)
    assert promote() == table.head


def test_a_whole_table_is_promoted_once_staging_has_come_as_far_as_live(lease: RunLease) -> None:
    behind, _ = promotion(lease, live(8, "fixed"), plan=MERGED, reached={0: 59})
    assert refused(behind).code == "promote.behind"
    promote, table = promotion(lease, live(8, "fixed"), plan=MERGED, reached={0: 60})
    promote()
    assert table.kept == [frozenset()], "live's rows were merged onto a state that is replaced"


def test_whoever_commits_between_the_look_and_the_commit_is_looked_at_too(lease: RunLease) -> None:
    promote, table = promotion(lease)

    def between(look: int) -> None:
        if look < 4:
            table.commits.append(live(10 + look, "fixed"))

    table.between = between
    snapshot = promote()
    assert table.head == snapshot
    assert table.kept == [frozenset({"live-12", "live-13"})]
    assert outcomes(lease) == [Outcome.SUCCEEDED], "one intent, however often it looked"


def test_rows_of_other_code_that_come_between_the_look_and_the_commit_are_not_lost(lease: RunLease) -> None:
    promote, table = promotion(lease)
    table.between = lambda look: table.commits.append(live(10)) if look == 2 else None
    assert refused(promote).code == "promote.behind"
    assert (table.head, lease.run.state, outcomes(lease)) == (head_of(10), State.VALIDATED, [Outcome.FAILED])


def test_a_main_that_never_rests_ends_in_a_conflict_with_nothing_changed(lease: RunLease) -> None:
    promote, table = promotion(lease)
    table.between = lambda look: table.commits.append(Commit(head_of(1000 + look), Author.REWRITE))
    assert refused(promote).code == "target.moved"
    assert table.looks == 1 + ATTEMPTS
    assert (table.ids, lease.run.state, outcomes(lease)) == ({}, State.VALIDATED, [Outcome.FAILED])


def test_whoever_was_superseded_does_not_look_again(store: SqlRunStore, lease: RunLease) -> None:
    promote, table = promotion(lease)

    def between(_look: int) -> None:
        store.writer.acquire(RUN, "host-b:2", timedelta(minutes=1), actor="bob", take_over=True)
        table.commits.append(Commit(head_of(1000), Author.REWRITE))

    table.between = between
    with pytest.raises(SupersededError):
        promote()
    assert table.looks == 2
    assert table.ids == {}
