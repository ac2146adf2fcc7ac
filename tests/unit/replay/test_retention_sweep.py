"""Extensions of retention that processes left: which are restored, by whom, and what a refusal leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import leased
from tests.unit.replay.test_retention_extension import DAY, TOPIC, Topics, actions, extension

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.replay.retention_extension import EXTENDED, RESTORED, ExtensionIntent
from anabranch.replay.retention_sweep import restore_own, sweep_extensions
from anabranch.runs.run_lease import RunLease


class SilentError(AnabranchError):
    code = "test.silent"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


class Sweep:
    """What a sweep printed and which leases it took."""

    def __init__(self, store: SqlRunStore, topics: Topics) -> None:
        self.store, self.topics = store, topics
        self.notices: list[str] = []
        self.failures: list[str] = []
        self.tried: list[str] = []
        self.taken: list[str] = []

    @contextmanager
    def take(self, run: str) -> Iterator[RunLease]:
        self.tried.append(run)
        lease = leased(self.store, run, "host-b:2")
        self.taken.append(run)
        yield RunLease(self.store.reader, self.store.writer, run, lease.epoch, "bob")
        self.store.writer.release(run, lease.epoch, actor="bob")

    def __call__(self, *, besides: str | None = None, later: timedelta = timedelta()) -> list[ExtensionIntent]:
        now = datetime.now(timezone.utc) + later
        return sweep_extensions(
            self.store.reader,
            self.take,
            lambda: self.topics,
            now,
            self.notices.append,
            self.failures.append,
            besides,
        )


def end(store: SqlRunStore, run: str) -> None:
    store.writer.release(run, store.reader.lease(run).epoch, actor="ada")


def test_what_an_ended_process_extended_is_restored(store: SqlRunStore) -> None:
    topics = Topics()
    extension(store, topics).hold(3 * DAY)
    end(store, "r1")
    sweep = Sweep(store, topics)
    assert sweep() == []
    assert (topics.own, sweep.taken, sweep.failures) == (DAY, ["r1"], [])
    assert sweep.notices == [f"retention.ms of {TOPIC}: restored to {DAY}"]
    assert actions(store) == [EXTENDED, RESTORED]
    assert sweep() == []
    assert sweep.taken == ["r1"], "and the next sweep has nothing to do"


def test_the_extension_of_a_running_replay_stands_and_is_listed(store: SqlRunStore) -> None:
    topics = Topics()
    extension(store, topics).hold(3 * DAY)
    sweep = Sweep(store, topics)
    standing = sweep()
    assert [(each.run, each.was_ms, each.to_ms) for each in standing] == [("r1", DAY, 3 * DAY)]
    assert (topics.own, sweep.tried) == (3 * DAY, []), "its lease is not asked for"


def test_the_run_that_begins_now_is_left_to_itself(store: SqlRunStore) -> None:
    topics = Topics()
    extension(store, topics).hold(3 * DAY)
    end(store, "r1")
    sweep = Sweep(store, topics)
    assert [each.run for each in sweep(besides="r1")] == ["r1"]
    assert (topics.own, sweep.taken) == (3 * DAY, [])


def test_a_run_that_another_command_restores_at_this_moment_is_passed_over(store: SqlRunStore) -> None:
    """By this clock the lease has expired; the database still knows who holds it."""
    topics = Topics()
    extension(store, topics).hold(3 * DAY)
    sweep = Sweep(store, topics)
    assert [each.run for each in sweep(later=timedelta(minutes=5))] == ["r1"]
    assert (topics.own, sweep.tried, sweep.taken, sweep.failures) == (3 * DAY, ["r1"], [], [])


def test_a_refusal_is_reported_and_the_next_run_is_restored(store: SqlRunStore) -> None:
    topics = Topics()
    extension(store, topics, "r1", 0).hold(3 * DAY)
    extension(store, topics, "r2", 1).hold(5 * DAY)
    end(store, "r1")
    end(store, "r2")
    topics.denied = True
    sweep = Sweep(store, topics)
    assert [each.run for each in sweep()] == ["r2"], "the first one of two leaves the value to the other"
    assert len(sweep.failures) == 1
    assert f"retention.ms of {TOPIC} is still extended by run r2 (was {DAY})" in sweep.failures[0]
    assert "`anabranch retention sweep`" in sweep.failures[0]
    topics.denied = False
    assert sweep() == []
    assert topics.own == DAY


def test_a_run_restores_its_own_extension_only(store: SqlRunStore) -> None:
    topics, notices = Topics(), list[str]()
    extension(store, topics, "r1", 0).hold(5 * DAY)
    other = extension(store, topics, "r2", 1)
    other.hold(3 * DAY)
    lease = RunLease(store.reader, store.writer, "r1", store.reader.lease("r1").epoch, "ada")
    restore_own(lease, lambda: topics, notices.append)
    assert topics.own == 3 * DAY, "the other run still needs that"
    assert [each.run_id for each in store.reader.open_steps("retention-extension")] == ["r2"]
    other.restore()
    assert topics.own == DAY


def test_a_superseded_process_leaves_the_extension_to_its_successor(store: SqlRunStore) -> None:
    topics, notices = Topics(), list[str]()
    extension(store, topics).hold(3 * DAY)
    stale = RunLease(store.reader, store.writer, "r1", store.reader.lease("r1").epoch, "ada")
    end(store, "r1")
    leased(store, "r1", "host-b:2")
    restore_own(stale, lambda: topics, notices.append)
    assert (topics.own, notices, actions(store)) == (3 * DAY, [], [EXTENDED])


def test_a_silent_database_is_left_to_the_command(store: SqlRunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    topics, notices = Topics(), list[str]()
    extension(store, topics).hold(3 * DAY)
    lease = RunLease(store.reader, store.writer, "r1", store.reader.lease("r1").epoch, "ada")

    def silent(*_: object) -> None:
        raise SilentError("no answer", state="as before", hint="wait")

    monkeypatch.setattr(type(store.reader), "open_steps", silent)
    restore_own(lease, lambda: topics, notices.append)
    assert (topics.own, notices) == (3 * DAY, [])
