"""One commit with one effect, whatever is refused, lost or forgotten on the way: over a real run store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased, walked_to
from tests.unit.promote.target import UncalledTarget, head_of

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.promote.commit import Act, already_done, commit_once, reconcile
from anabranch.promote.outcome import CommitUnrecordedError, OutcomeUnknownError
from anabranch.promote.ports import CommitNote
from anabranch.runs.heads import Head
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

RUN = "r1"
FROM = {Act.PROMOTE: State.VALIDATED, Act.ROLL_BACK: State.PROMOTED}
ACTS = pytest.mark.parametrize("act", list(Act))


class RefusedError(AnabranchError):
    code = "test.refused"


class UnreachableError(AnabranchError):
    code = "test.unreachable"


def refuse(_note: CommitNote) -> Head:
    raise RefusedError("no", state="as before", hint="try again")


@dataclass
class MemoryTable(UncalledTarget):
    """A table whose main line is a list of commit ids, by head. `reachable` is whether its history can be read."""

    commits: dict[Head, str] = field(default_factory=dict)
    reachable: bool = True
    looked: int = 0

    def commit(self, note: CommitNote) -> Head:
        snapshot = head_of(100 + len(self.commits))
        self.commits[snapshot] = note.id
        return snapshot

    def commit_unheard(self, note: CommitNote) -> Head:
        """It takes effect, and the answer is lost."""
        self.commit(note)
        raise ConnectionError

    def not_commit_unheard(self, _note: CommitNote) -> Head:
        """It does not take effect, and the answer is lost."""
        raise ConnectionError

    def find_commit(self, commit_id: str) -> Head | None:
        self.looked += 1
        if not self.reachable:
            raise ConnectionError
        return next((snapshot for snapshot, each in self.commits.items() if each == commit_id), None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def table() -> MemoryTable:
    return MemoryTable()


def ready(store: SqlRunStore, act: Act) -> RunLease:
    """A run that may begin the act."""
    return RunLease(store.reader, store.writer, RUN, walked_to(store, FROM[act]).epoch, "ada")


def next_process(store: SqlRunStore) -> RunLease:
    return RunLease(store.reader, store.writer, RUN, leased(store).epoch, "ada")


def entries(lease: RunLease, act: Act) -> list[JournalEntry]:
    return [each for each in lease.reader.journal(RUN) if each.step == act.step]


def outcomes(lease: RunLease, act: Act) -> list[Outcome | None]:
    return [each.outcome for each in entries(lease, act)]


def begun_in(store: SqlRunStore, act: Act, *, landed: MemoryTable | None = None) -> JournalEntry:
    """A process that ended within the act, before the commit; with `landed`, right after it."""
    lease = ready(store, act)
    entry = lease.record_intent(act.step, {"number": 1}, intent=f"{RUN}-{act.step}-1")
    lease.transition(act.begin)
    if landed is not None:
        landed.commit(CommitNote(entry.id, act.author, RUN, lease.epoch))
    return entry


@ACTS
def test_success_is_one_commit_that_is_on_record(store: SqlRunStore, table: MemoryTable, act: Act) -> None:
    lease, notes = ready(store, act), []

    def perform(note: CommitNote) -> Head:
        assert lease.run.state is act.underway
        assert [each.id for each in store.reader.open_intents(RUN)] == [note.id], "the intent is on record before"
        notes.append(note)
        return table.commit(note)

    snapshot = commit_once(lease, table, act, perform, {"approval": 3})
    assert table.commits == {snapshot: notes[0].id}
    assert (notes[0].author, notes[0].run, notes[0].epoch) == (act.author, RUN, lease.epoch)
    assert lease.run.state is act.done
    [entry] = entries(lease, act)
    assert (entry.outcome, entry.outcome_details) == (Outcome.SUCCEEDED, {"snapshot": snapshot})
    [begun] = [each for each in store.reader.audit(run_id=RUN) if each.action == f"run.{act.begin.value}"][-1:]
    assert '"approval":3' in begun.details.replace(" ", "")


@ACTS
def test_again_after_success_changes_nothing(store: SqlRunStore, table: MemoryTable, act: Act) -> None:
    snapshot = commit_once(ready(store, act), table, act, table.commit)
    before = len(store.reader.audit())
    again = next_process(store)
    audited = len(store.reader.audit())
    assert commit_once(again, table, act, refuse) == snapshot
    assert already_done(again, table, act) == snapshot
    assert len(store.reader.audit()) == audited > before
    assert len(table.commits) == 1


@ACTS
def test_a_refusal_backs_out_and_the_act_can_be_asked_for_again(
    store: SqlRunStore, table: MemoryTable, act: Act
) -> None:
    lease = ready(store, act)
    with pytest.raises(RefusedError):
        commit_once(lease, table, act, refuse)
    assert (lease.run.state, outcomes(lease, act), table.commits) == (FROM[act], [Outcome.FAILED], {})
    assert (entries(lease, act)[0].outcome_details or {})["code"] == "test.refused"
    assert table.looked == 0, "a refusal is no doubt"
    snapshot = commit_once(lease, table, act, table.commit)
    assert list(table.commits) == [snapshot]
    assert outcomes(lease, act) == [Outcome.FAILED, Outcome.SUCCEEDED]
    assert len({each.id for each in entries(lease, act)}) == 2, "each attempt has an id of its own"


@ACTS
def test_an_answer_that_was_lost_is_found_by_the_commit_s_id(store: SqlRunStore, table: MemoryTable, act: Act) -> None:
    lease = ready(store, act)
    snapshot = commit_once(lease, table, act, table.commit_unheard)
    assert list(table.commits) == [snapshot]
    assert (lease.run.state, outcomes(lease, act)) == (act.done, [Outcome.SUCCEEDED])


@ACTS
@pytest.mark.parametrize("landed_later", [True, False])
def test_an_outcome_that_is_unknown_stays_open_until_the_next_call_settles_it(
    store: SqlRunStore, table: MemoryTable, act: Act, landed_later: bool
) -> None:
    lease, notes = ready(store, act), []

    def on_its_way(note: CommitNote) -> Head:
        notes.append(note)
        raise ConnectionError

    with pytest.raises(OutcomeUnknownError) as unknown:
        commit_once(lease, table, act, on_its_way)
    assert unknown.value.fields["commit"] == notes[0].id
    assert isinstance(unknown.value.__cause__, ConnectionError)
    assert (lease.run.state, outcomes(lease, act)) == (act.underway, [Outcome.UNKNOWN])
    assert [each.id for each in store.reader.open_intents(RUN)] == [notes[0].id]

    if landed_later:
        table.commit(notes[0])
    again = next_process(store)
    snapshot = commit_once(again, table, act, table.commit)
    assert list(table.commits) == [snapshot], "exactly one commit, whether or not the first took effect"
    expected = [Outcome.SUCCEEDED] if landed_later else [Outcome.FAILED, Outcome.SUCCEEDED]
    assert (again.run.state, outcomes(again, act)) == (act.done, expected)


@ACTS
@pytest.mark.parametrize("took_effect", [True, False])
def test_a_table_that_cannot_be_read_afterwards_leaves_the_intent_as_it_was(
    store: SqlRunStore, table: MemoryTable, act: Act, took_effect: bool
) -> None:
    lease = ready(store, act)
    table.reachable = False
    with pytest.raises(OutcomeUnknownError):
        commit_once(lease, table, act, table.commit_unheard if took_effect else table.not_commit_unheard)
    assert (lease.run.state, outcomes(lease, act)) == (act.underway, [None])
    with suppress(ConnectionError):
        commit_once(next_process(store), table, act, table.commit)
    assert len(table.commits) == int(took_effect), "nothing is tried again while nobody can look"
    table.reachable = True
    snapshot = commit_once(next_process(store), table, act, table.commit)
    assert list(table.commits) == [snapshot]


@ACTS
def test_a_commit_that_could_not_be_recorded_says_so_and_is_recorded_by_the_next_call(
    store: SqlRunStore, table: MemoryTable, act: Act
) -> None:
    @dataclass(frozen=True)
    class Forgetful(RunLease):
        """The database goes away once the commit is made."""

        def record_outcome(self, *_arguments: object, **_more: object) -> None:
            raise UnreachableError("gone", state="unknown", hint="wait")

    made = ready(store, act)
    lease = Forgetful(made.reader, made.writer, RUN, made.epoch, "ada")
    with pytest.raises(CommitUnrecordedError) as unrecorded:
        commit_once(lease, table, act, table.commit)
    [snapshot] = table.commits
    assert unrecorded.value.fields["snapshot"] == snapshot
    assert (made.run.state, outcomes(made, act)) == (act.underway, [None])

    again = next_process(store)
    assert commit_once(again, table, act, table.commit) == snapshot
    assert list(table.commits) == [snapshot]
    assert (again.run.state, outcomes(again, act)) == (act.done, [Outcome.SUCCEEDED])


@ACTS
def test_whoever_is_superseded_after_the_commit_is_told_so_and_the_next_settles_it(
    store: SqlRunStore, table: MemoryTable, act: Act
) -> None:
    lease = ready(store, act)

    def overtaken(note: CommitNote) -> Head:
        snapshot = table.commit(note)
        store.writer.acquire(RUN, "host-b:2", timedelta(minutes=1), actor="bob", take_over=True)
        return snapshot

    with pytest.raises(SupersededError):
        commit_once(lease, table, act, overtaken)
    other = RunLease(store.reader, store.writer, RUN, store.reader.lease(RUN).epoch, "bob")
    [snapshot] = table.commits
    assert commit_once(other, table, act, table.commit) == snapshot
    assert list(table.commits) == [snapshot]


@ACTS
def test_a_process_that_died_before_the_commit_leaves_nothing_and_it_is_done_now(
    store: SqlRunStore, table: MemoryTable, act: Act
) -> None:
    begun_in(store, act)
    lease = next_process(store)
    snapshot = commit_once(lease, table, act, table.commit)
    assert list(table.commits) == [snapshot]
    assert outcomes(lease, act) == [Outcome.FAILED, Outcome.SUCCEEDED]


@ACTS
def test_a_process_that_died_after_the_commit_is_finished_and_nothing_is_committed(
    store: SqlRunStore, table: MemoryTable, act: Act
) -> None:
    begun_in(store, act, landed=table)
    lease = next_process(store)
    assert commit_once(lease, table, act, refuse) == head_of(100)
    assert (lease.run.state, outcomes(lease, act)) == (act.done, [Outcome.SUCCEEDED])


@ACTS
@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED])
def test_a_process_that_died_between_the_outcome_and_the_state_is_finished_by_the_record(
    store: SqlRunStore, table: MemoryTable, act: Act, outcome: Outcome
) -> None:
    entry = begun_in(store, act, landed=table)
    lease = next_process(store)
    lease.record_outcome(entry, outcome, {"snapshot": head_of(100)})
    found = reconcile(lease, table)
    if outcome is Outcome.SUCCEEDED:
        assert (found, lease.run.state) == (head_of(100), act.done)
    else:
        assert (found, lease.run.state) == (None, FROM[act])


@ACTS
def test_an_intent_that_never_led_to_the_act_is_given_up(store: SqlRunStore, table: MemoryTable, act: Act) -> None:
    lease = ready(store, act)
    lease.record_intent(act.step, {"number": 1}, intent=f"{RUN}-{act.step}-1")
    assert already_done(lease, table, act) is None
    commit_once(lease, table, act, table.commit)
    assert outcomes(lease, act) == [Outcome.FAILED, Outcome.SUCCEEDED]
    assert not store.reader.open_intents(RUN)


def test_there_and_back_and_there_again_are_three_commits(store: SqlRunStore, table: MemoryTable) -> None:
    lease = ready(store, Act.PROMOTE)
    first = commit_once(lease, table, Act.PROMOTE, table.commit)
    back = commit_once(lease, table, Act.ROLL_BACK, table.commit)
    assert lease.run.state is State.ROLLED_BACK
    assert already_done(lease, table, Act.PROMOTE) is None, "what was taken out again is not done"
    again = commit_once(lease, table, Act.PROMOTE, table.commit)
    assert len(table.commits) == len({first, back, again}) == 3
    assert len(set(table.commits.values())) == 3
    assert already_done(lease, table, Act.PROMOTE) == again


@pytest.mark.parametrize("state", [each for each in State if each not in {act.underway for act in Act}])
def test_where_no_act_is_under_way_there_is_nothing_to_find_out(
    store: SqlRunStore, table: MemoryTable, state: State
) -> None:
    epoch = walked_to(store, state).epoch
    lease = RunLease(store.reader, store.writer, RUN, epoch, "ada")
    assert reconcile(lease, table) is None
    assert (lease.run.state, table.looked) == (state, 0)
