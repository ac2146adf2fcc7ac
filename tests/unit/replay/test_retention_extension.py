"""An extension of retention over a real run store: held, restored, found after a crash, shared by two runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import hours, leased, submitted
from tests.unit.plan.test_retention_race import expiring

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.replay.retention_extension import (
    EXTENDED,
    RESTORED,
    STEP,
    RetentionExtension,
    TopicRetention,
    settle,
    without_extensions,
)
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease

TOPIC = "shop.orders"
DAY = 86_400_000


class DeniedError(AnabranchError):
    code = "test.denied"


@dataclass
class Topics:
    """One topic's retention.ms: its own value, or the broker's."""

    own: int | None = DAY
    broker: int = 7 * DAY
    uuid: str = "u1"
    log: list[int | None] = field(default_factory=list)
    denied: bool = False

    @property
    def now(self) -> int:
        return self.broker if self.own is None else self.own

    def read(self, topic: str) -> TopicRetention | None:
        return TopicRetention(topic, self.uuid, self.now, self.own is not None) if topic == TOPIC else None

    def write(self, topic: str, milliseconds: int) -> None:
        if self.denied:
            raise DeniedError("not authorized", state="as before", hint="allow it")
        self.log.append(milliseconds)
        self.own = milliseconds

    def remove(self, topic: str) -> None:
        self.log.append(None)
        self.own = None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def extension(store: SqlRunStore, topics: Topics, run: str = "r1", start: int = 0) -> RetentionExtension:
    if run not in {each.id for each in store.reader.runs()}:
        submitted(store, run, hours(start, start + 1))
    lease = RunLease(store.reader, store.writer, run, leased(store, run).epoch, "ada")
    return RetentionExtension(lease, topics, TOPIC, lambda: store.reader.open_steps(STEP))


def actions(store: SqlRunStore) -> list[str]:
    return [each.action for each in store.reader.audit() if each.action in (EXTENDED, RESTORED)]


@pytest.mark.parametrize(("own", "log"), [(DAY, [3 * DAY, DAY]), (None, [30 * DAY, None])], ids=["own", "inherited"])
def test_an_extension_is_held_once_and_restored_to_what_it_was(
    store: SqlRunStore, own: int | None, log: list[int | None]
) -> None:
    topics = Topics(own)
    held = extension(store, topics)
    held.hold(log[0] or 0)
    held.hold(log[0] or 0)
    assert len(store.reader.open_steps(STEP)) == 1, "the intent stays open for as long as it stands"
    held.restore()
    held.restore()
    assert (topics.own, topics.log) == (own, log)
    assert store.reader.open_steps(STEP) == []
    assert actions(store) == [EXTENDED, RESTORED]


def test_a_change_that_is_refused_leaves_nothing_open(store: SqlRunStore) -> None:
    topics = Topics(denied=True)
    with pytest.raises(DeniedError):
        extension(store, topics).hold(3 * DAY)
    assert (topics.own, store.reader.open_steps(STEP)) == (DAY, [])


def test_what_an_earlier_process_extended_is_continued_with_the_former_value_known(store: SqlRunStore) -> None:
    topics = Topics()
    extension(store, topics).hold(3 * DAY)
    again = extension(store, topics)
    again.hold(3 * DAY)
    assert topics.log == [3 * DAY]
    again.restore()
    assert topics.own == DAY


def test_an_extension_that_somebody_shortened_is_made_again(store: SqlRunStore) -> None:
    topics = Topics()
    held = extension(store, topics)
    held.hold(3 * DAY)
    topics.own = DAY
    held.hold(3 * DAY)
    assert topics.own == 3 * DAY


def test_a_value_that_somebody_else_set_stays(store: SqlRunStore) -> None:
    topics = Topics()
    held = extension(store, topics)
    held.hold(3 * DAY)
    topics.own = 5 * DAY
    held.restore()
    assert topics.own == 5 * DAY
    assert store.reader.open_steps(STEP) == []


def test_a_topic_that_was_recreated_is_left_alone(store: SqlRunStore) -> None:
    topics = Topics()
    held = extension(store, topics)
    held.hold(3 * DAY)
    topics.uuid = "u2"
    held.restore()
    assert (topics.own, store.reader.open_steps(STEP)) == (3 * DAY, [])


@pytest.mark.parametrize("longest", [3 * DAY, 5 * DAY], ids=["the first is shorter", "the first is longer"])
@pytest.mark.parametrize("ends_first", [0, 1])
def test_of_two_runs_on_a_topic_the_last_one_restores_it(store: SqlRunStore, longest: int, ends_first: int) -> None:
    topics = Topics()
    runs = [extension(store, topics, "r1"), extension(store, topics, "r2", start=1)]
    spans = [longest, 4 * DAY]
    for run, span in zip(runs, spans, strict=True):
        run.hold(span)
    assert topics.own == max(spans)
    runs[ends_first].restore()
    assert topics.own is not None
    assert topics.own >= spans[1 - ends_first], "the other still needs it"
    runs[1 - ends_first].restore()
    assert topics.own == DAY


def test_a_superseded_process_restores_nothing(store: SqlRunStore) -> None:
    topics = Topics()
    held = extension(store, topics)
    held.hold(3 * DAY)
    extension(store, topics)
    with pytest.raises(SupersededError):
        held.restore()
    assert topics.own == 3 * DAY


def test_a_crash_between_intent_and_change_is_settled_without_a_change(store: SqlRunStore) -> None:
    topics = Topics()
    dying = extension(store, topics)
    assert dying._intend(3 * DAY) is not None
    after = extension(store, topics)
    [entry] = store.reader.open_steps(STEP)
    settle(after.lease, topics, entry, [], lambda _: None)
    assert (topics.log, store.reader.open_steps(STEP)) == ([], [])


def test_a_race_is_judged_by_retention_without_any_extension(store: SqlRunStore) -> None:
    topics = Topics()
    extension(store, topics).hold(3 * DAY)
    facts = expiring({0: 5.0})
    found = without_extensions(facts, store.reader.open_steps(STEP))
    assert found.settings is not None
    assert found.settings.retention_ms == DAY
    elsewhere = replace(facts, topic="another")
    assert without_extensions(elsewhere, store.reader.open_steps(STEP)) is elsewhere
