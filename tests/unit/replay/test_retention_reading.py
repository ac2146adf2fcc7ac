"""What a run still has to read, for the race against retention at its gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import walked_to
from tests.unit.plan.test_retention_race import expiring
from tests.unit.replay.test_replayer import IDS, PLAN, RUN, SLICES

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.plan.retention.facts import RetentionFacts
from anabranch.plan.slices import Slice
from anabranch.plan.steps import ControlSlice, ReplaySlice
from anabranch.replay.retention_extension import STEP as EXTENSION
from anabranch.replay.retention_extension import ExtensionIntent
from anabranch.replay.retention_reading import read_retention, unread_slices
from anabranch.runs.journal import Outcome
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

DAY = 86_400_000
CONTROLLED = replace(PLAN, control="c" * 64)


@dataclass
class Topic:
    asked: list[Sequence[Slice]] = field(default_factory=list)

    def measure(self, slices: Iterable[Slice]) -> RetentionFacts:
        self.asked.append(tuple(slices))
        return expiring({0: 60})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def lease(store: SqlRunStore) -> RunLease:
    return RunLease(store.reader, store.writer, RUN, walked_to(store, State.REPLAYING).epoch, "ada")


def journal(lease: RunLease, slice_: str, outcome: Outcome | None, step: str = ReplaySlice.name) -> None:
    number = lease.number(step)
    entry = lease.record_intent(step, {"slice": slice_}, intent=f"{RUN}-{step}-{number}")
    if outcome is not None:
        lease.record_outcome(entry, outcome)


def ids(slices: Sequence[Slice]) -> list[str]:
    return [each.id for each in slices]


def test_a_run_reads_what_it_has_not_committed(lease: RunLease) -> None:
    assert ids(unread_slices(lease.reader, PLAN, RUN)) == IDS
    journal(lease, IDS[0], Outcome.SUCCEEDED)
    journal(lease, IDS[1], Outcome.FAILED)
    journal(lease, IDS[2], Outcome.UNKNOWN)
    journal(lease, IDS[3], None)
    assert ids(unread_slices(lease.reader, PLAN, RUN)) == IDS[1:], "only a commit that is known has read its slice"


def test_with_a_control_a_slice_is_read_twice(lease: RunLease) -> None:
    journal(lease, IDS[0], Outcome.SUCCEEDED)
    assert ids(unread_slices(lease.reader, CONTROLLED, RUN)) == IDS
    journal(lease, IDS[0], Outcome.SUCCEEDED, ControlSlice.name)
    assert ids(unread_slices(lease.reader, CONTROLLED, RUN)) == IDS[1:]


@pytest.mark.parametrize("state", [State.STAGED, State.VALIDATED, State.PROMOTED, State.CANCELLED])
def test_a_run_whose_replay_is_over_reads_nothing(store: SqlRunStore, state: State) -> None:
    walked_to(store, state)
    topic = Topic()
    assert unread_slices(store.reader, PLAN, RUN) == ()
    assert read_retention(store.reader, PLAN, RUN, topic, lambda: None) is None
    assert topic.asked == [], "and the topic is not asked"


def test_a_plan_that_was_not_submitted_reads_all_of_it(store: SqlRunStore) -> None:
    topic = Topic()
    found = read_retention(store.reader, PLAN, None, topic, lambda: "it needs an approval")
    assert found is not None
    assert (found.slices, found.withheld, topic.asked) == (SLICES, "it needs an approval", [SLICES])


def test_an_extension_of_another_run_counts_as_gone(lease: RunLease, store: SqlRunStore) -> None:
    """It ends with that run: a race that is won by it alone is lost."""
    found = read_retention(lease.reader, PLAN, RUN, Topic(), lambda: None)
    assert found is not None
    assert found.facts.settings is not None
    before = found.facts.settings.retention_ms
    intent = ExtensionIntent(RUN, found.facts.topic, "u1", 3 * DAY, True, 30 * DAY)
    lease.record_intent(EXTENSION, intent.document(), intent=f"{RUN}-extension")
    again = read_retention(lease.reader, PLAN, RUN, Topic(), lambda: None)
    assert again is not None
    assert again.facts.settings is not None
    assert (again.facts.settings.retention_ms, before != 3 * DAY) == (3 * DAY, True)


@pytest.mark.parametrize("state", [State.PLANNED, State.PAUSED, State.FAILED])
def test_a_run_that_may_go_on_still_reads(store: SqlRunStore, state: State) -> None:
    walked_to(store, state)
    assert ids(unread_slices(store.reader, PLAN, RUN)) == IDS
