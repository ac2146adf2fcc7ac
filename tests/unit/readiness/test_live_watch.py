"""Live is sampled from the beginning to the end of what is watched, and a sample that failed is never a good one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event

import pytest

from anabranch.errors import AnabranchError
from anabranch.readiness import live_watch
from anabranch.readiness.live_watch import LiveWatch


class SilentError(AnabranchError):
    code = "test.silent"


@dataclass
class Live:
    end: int = 10
    group: dict[int, int] = field(default_factory=dict)
    table: dict[int, int] = field(default_factory=dict)
    silent_at: int | None = None
    """The number of the look at which Kafka does not answer; before and after it does."""
    looks: int = 0
    seen: Event = field(default_factory=Event)
    """Set by the second look."""

    def log_ends(self) -> Mapping[int, int]:
        self.looks += 1
        if self.looks >= 2:
            self.seen.set()
        if self.looks == self.silent_at:
            raise SilentError("Kafka did not answer.", state="as before", hint="wait")
        return {0: self.end}

    def of_group(self) -> Mapping[int, int]:
        return self.group

    def of_table(self) -> Mapping[int, int]:
        return self.table


@pytest.fixture
def rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sample is due in between."""
    monkeypatch.setattr(live_watch, "EVERY_SECONDS", 3600.0)


@pytest.mark.usefixtures("rarely")
def test_the_shortest_watch_has_a_sample_before_and_after() -> None:
    live = Live(group={0: 4})
    watch = LiveWatch(live)
    with watch.watching():
        live.end = 30
    assert [each.lag for each in watch.samples] == [6, 26]
    assert watch.samples[0].at <= watch.samples[1].at


@pytest.mark.usefixtures("rarely")
def test_a_short_replay_has_a_sample_of_its_own() -> None:
    watch = LiveWatch(Live(group={0: 4}))
    with watch.watching(), watch.replaying():
        pass
    assert [each.replaying for each in watch.samples] == [False, True, False]


@pytest.mark.usefixtures("rarely")
def test_what_fails_in_a_replay_ends_it_for_the_samples_too() -> None:
    watch = LiveWatch(Live())
    with pytest.raises(ZeroDivisionError), watch.replaying():
        raise ZeroDivisionError
    with watch.watching():
        pass
    assert [each.replaying for each in watch.samples] == [False, False]


@pytest.mark.usefixtures("rarely")
@pytest.mark.parametrize(
    ("group", "table", "position"),
    [({0: 4}, {0: 9}, {0: 4}), ({}, {0: 9}, {0: 9}), ({}, {}, None)],
    ids=["the group's", "the table's if the group has none", "unknown"],
)
def test_lives_position(group: dict[int, int], table: dict[int, int], position: dict[int, int] | None) -> None:
    watch = LiveWatch(Live(group=group, table=table))
    with watch.watching():
        pass
    assert [each.position for each in watch.samples] == [position] * 2
    assert (watch.samples[0].lag is None) == (position is None)


def test_samples_are_taken_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_watch, "EVERY_SECONDS", 0.001)
    live = Live()
    watch = LiveWatch(live)
    with watch.watching():
        assert live.seen.wait(60), "no sample was taken while something ran"
    assert len(watch.samples) >= 3


def test_a_sample_that_failed_in_between_is_raised_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown lag must not count as a good one."""
    monkeypatch.setattr(live_watch, "EVERY_SECONDS", 0.001)
    live = Live(silent_at=2)
    watch = LiveWatch(live)
    with pytest.raises(SilentError), watch.watching():
        assert live.seen.wait(60)
    assert len(watch.samples) == 1


@pytest.mark.usefixtures("rarely")
def test_what_cannot_be_sampled_is_not_begun() -> None:
    watch, begun = LiveWatch(Live(silent_at=1)), False
    with pytest.raises(SilentError), watch.watching():
        begun = True
    assert not begun
