"""Real concurrency: what holds one call at a time holds for threads and processes at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from sqlalchemy import URL, text
from tests.conformance.run_store.conftest import OpenStore
from tests.conformance.run_store.racing import race, race_processes
from tests.conformance.run_store.scene import MINUTE, hours, leased, new_run, submitted, transition

from anabranch.adapters.sql.engine import writing
from anabranch.adapters.sql.errors import StoreBusyError, StoreConstraintError
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.lease import Lease, LeaseHeldError, SupersededError
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import RangeHeldError, Submission
from anabranch.runs.states import Event, State

ROUNDS = 4
RACERS = 6


@pytest.fixture
def stores(open_another: OpenStore) -> list[SqlRunStore]:
    return [open_another() for _ in range(RACERS)]


def test_of_overlapping_submissions_one_wins_and_the_others_are_told_which(stores: list[SqlRunStore]) -> None:
    def submitting(store: SqlRunStore, run_id: str, target: TargetRange) -> Callable[[], Submission]:
        return lambda: store.writer.submit(new_run(run_id, target), actor="ada")

    for round_number in range(ROUNDS):
        table = f"lake.table_{round_number}"  # a target that nobody has named before
        answers = race(
            [
                submitting(store, f"r{round_number}-{number}", hours(number, number + 9, table))
                for number, store in enumerate(stores)
            ]
        )
        (winner,) = (answer.run.id for answer in answers if isinstance(answer, Submission))
        losers = [answer for answer in answers if not isinstance(answer, Submission)]
        assert [type(loser) for loser in losers] == [RangeHeldError] * (RACERS - 1)
        assert {loser.fields["run"] for loser in losers if isinstance(loser, RangeHeldError)} == {winner}
        assert [run.id for run in stores[0].reader.runs(table=table)] == [winner]
    assert stores[0].reader.verify_audit().head.seq == ROUNDS


def test_one_contract_submitted_by_all_at_once_is_one_run(stores: list[SqlRunStore]) -> None:
    def submitting(store: SqlRunStore, run_id: str) -> Callable[[], Submission]:
        return lambda: store.writer.submit(new_run(run_id, contract="the same"), actor="ada")

    answers = race([submitting(store, f"r{number}") for number, store in enumerate(stores)])
    submissions = [answer for answer in answers if isinstance(answer, Submission)]
    assert len(submissions) == RACERS
    assert len({submission.run.id for submission in submissions}) == 1
    assert [submission.created for submission in submissions].count(True) == 1


def test_one_id_submitted_for_different_targets_at_once_is_one_run(stores: list[SqlRunStore]) -> None:
    def submitting(store: SqlRunStore, table: str) -> Callable[[], Submission]:
        return lambda: store.writer.submit(new_run("r1", hours(0, 1, table), contract="the same"), actor="ada")

    answers = race([submitting(store, f"lake.t{number}") for number, store in enumerate(stores)])
    assert [answer.run.id for answer in answers if isinstance(answer, Submission)] == ["r1"] * RACERS
    assert len(stores[0].reader.runs()) == 1


def test_the_constraint_holds_under_a_race_of_writers_who_do_not_ask_first(stores: list[SqlRunStore]) -> None:
    """Straight into the table, with no look and no lock: what is left is the database alone."""
    submitted(stores[0], "r0", hours(0, 1))
    insert = text(
        """INSERT INTO runs SELECT :id, pipeline, target_id, :starts, :ends, :id, plan_hash, author, state,
           fault_code, fault_text, created_at, updated_at FROM runs WHERE id = 'r0'"""
    )

    def inserting(store: SqlRunStore, run_id: str, target: TargetRange) -> Callable[[], str]:
        def insert_it() -> str:
            with writing(store.engine) as connection:
                connection.execute(insert, {"id": run_id, "starts": target.starts, "ends": target.ends})
            return run_id

        return insert_it

    for start in range(10, 10 + 20 * ROUNDS, 20):
        ids = f"a{start}", f"b{start}"
        ranges = hours(start, start + 5), hours(start + 4, start + 9)
        answers = race([inserting(*each) for each in zip(stores, ids, ranges, strict=False)])
        (winner,) = (answer for answer in answers if isinstance(answer, str))
        (loser,) = (answer for answer in answers if not isinstance(answer, str))
        # PostgreSQL may find that the two wait for each other, and end one of them for that.
        assert isinstance(loser, StoreConstraintError | StoreBusyError)
        with stores[0].engine.connect() as connection:
            found = connection.execute(text("SELECT id FROM runs WHERE starts >= :start"), {"start": ranges[0].starts})
            assert found.scalars().all() == [winner]


def test_a_free_lease_goes_to_one_of_many(stores: list[SqlRunStore]) -> None:
    submitted(stores[0])

    def acquiring(store: SqlRunStore, holder: str) -> Callable[[], Lease]:
        return lambda: leased(store, holder=holder)

    for epoch in range(1, ROUNDS + 1):
        answers = race([acquiring(store, f"h{number}") for number, store in enumerate(stores)])
        (lease,) = (answer for answer in answers if isinstance(answer, Lease))
        assert lease.epoch == epoch
        assert [answer.fields["holder"] for answer in answers if isinstance(answer, LeaseHeldError)] == [
            lease.holder
        ] * (RACERS - 1)
        stores[0].writer.release("r1", lease.epoch, actor="ada")


def test_takeovers_at_once_all_get_epochs_of_their_own(stores: list[SqlRunStore]) -> None:
    submitted(stores[0])

    def taking(store: SqlRunStore, holder: str) -> Callable[[], Lease]:
        return lambda: store.writer.acquire("r1", holder, MINUTE, actor="ada", take_over=True)

    answers = race([taking(store, f"h{number}") for number, store in enumerate(stores)])
    assert sorted(answer.epoch for answer in answers if isinstance(answer, Lease)) == list(range(1, RACERS + 1))


def test_after_a_takeover_nothing_more_is_written_under_the_former_epoch(stores: list[SqlRunStore]) -> None:
    working, taking = stores[:2]
    submitted(working)
    lease = leased(working, holder="h0")
    transition(working, lease, Event.START)

    def work_until_superseded() -> int:
        for number in count():
            try:
                transition(working, lease, Event.RESUME if number % 2 else Event.PAUSE)
            except SupersededError:
                return number
        raise AssertionError

    def take_over() -> int:
        while len(taking.reader.audit(after=20)) == 0:
            pass
        return taking.writer.acquire("r1", "h1", MINUTE, actor="bob", take_over=True).epoch

    done, epoch = race([work_until_superseded, take_over])
    assert isinstance(done, int)
    assert epoch == 2
    records = taking.reader.audit()
    assert records[-1].action == "lease.take_over"
    assert [record.epoch for record in records[:-1]] == [0, 1, 1, *[1] * done]
    assert taking.reader.verify_audit().intact
    assert taking.reader.run("r1").state is (State.PAUSED if done % 2 else State.REPLAYING)


APPENDING = """
import sys
from anabranch.adapters.sql.store import open_store
url, number = sys.argv[1:]
with open_store(url) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(25):
        store.writer.record_act("test.act", actor=f"process-{number}")
        assert store.reader.verify_audit().intact
print("done")
"""


def test_many_processes_append_to_one_chain_and_none_finds_the_database_locked(
    database: URL, store: SqlRunStore
) -> None:
    assert race_processes(APPENDING, database, 4) == ["done\n"] * 4
    verdict = store.reader.verify_audit()
    assert verdict.intact
    assert verdict.head.seq == 100


def test_readers_see_one_state_while_others_write(stores: list[SqlRunStore]) -> None:
    def append() -> int:
        for _ in range(40):
            stores[0].writer.record_act("test.act", actor="ada")
        return 40

    def verify() -> int:
        seen = 0
        while seen < 40:
            verdict = stores[1].reader.verify_audit()
            assert verdict.intact, verdict
            assert verdict.head.seq >= seen
            seen = verdict.head.seq
        return seen

    assert race([append, verify]) == [40, 40]
