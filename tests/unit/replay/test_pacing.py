"""The lowest limit reaches every brake, and only changes are noted."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from anabranch.replay.allowance import STANDSTILL, UNLIMITED, Allowance
from anabranch.replay.pacing import Pacing

CONTRACT = Allowance("contract", "budget.bytesPerSecond", 20_000_000)
GOVERNOR = Allowance("governor", "live lag 41 s, target 10 s", 5_000_000)


@dataclass
class Source:
    now: Callable[[], Allowance]

    def allowance(self) -> Allowance:
        return self.now()


@dataclass
class Lever:
    applied: list[Allowance] = field(default_factory=list)

    def apply(self, allowance: Allowance) -> None:
        self.applied.append(allowance)


def test_the_lowest_of_all_sources_reaches_every_brake() -> None:
    one, other = Lever(), Lever()
    pacing = Pacing([Source(lambda: GOVERNOR)], [one, other])
    assert pacing.heed(CONTRACT) is GOVERNOR
    assert one.applied == other.applied == [GOVERNOR]


def test_the_own_limit_counts_where_no_source_is_lower() -> None:
    assert Pacing([Source(lambda: UNLIMITED)]).heed(CONTRACT) is CONTRACT


def test_only_changes_of_source_rate_or_pause_are_noted() -> None:
    noted: list[Allowance] = []
    now = GOVERNOR
    pacing = Pacing([Source(lambda: now)], changed=noted.append)
    pacing.heed(CONTRACT)
    now = replace(GOVERNOR, reason="live lag 42 s, target 10 s")
    pacing.heed(CONTRACT)
    assert noted == [GOVERNOR]
    now = replace(GOVERNOR, paused=True)
    pacing.heed(CONTRACT)
    now = replace(GOVERNOR, bytes_per_second=6_000_000)
    pacing.heed(CONTRACT)
    now = UNLIMITED
    pacing.heed(CONTRACT)
    assert [(each.source, each.paused, each.bytes_per_second) for each in noted[1:]] == [
        ("governor", True, 5_000_000),
        ("governor", False, 6_000_000),
        ("contract", False, 20_000_000),
    ]


def test_every_hold_is_in_force_before_a_change_is_noted_and_a_failed_note_is_repeated() -> None:
    """The note goes to a database, which may be silent; the limit must not wait for it."""
    held: list[Allowance] = []
    noted: list[Allowance] = []

    def note(allowance: Allowance) -> None:
        assert held[-1] is allowance
        noted.append(allowance)
        if len(noted) == 1:
            raise ConnectionError

    pacing = Pacing([Source(lambda: GOVERNOR)], changed=note)
    with pytest.raises(ConnectionError):
        pacing.heed(CONTRACT, held.append)
    pacing.heed(CONTRACT, held.append)
    pacing.heed(CONTRACT, held.append)
    assert (len(held), len(noted)) == (3, 2)


def test_an_exempted_source_does_not_count() -> None:
    pacing = Pacing([Source(lambda: GOVERNOR)])
    assert pacing.heed(CONTRACT, exempt=("governor",)) is CONTRACT


@dataclass
class Switch:
    """An experiment in a block without the replay."""

    seen: list[Allowance] = field(default_factory=list)
    read: dict[str, int] = field(default_factory=dict)

    def shape(self, allowed: Allowance) -> Allowance:
        self.seen.append(allowed)
        return Allowance("impact", "block 2 of 24, without the replay", STANDSTILL, paused=True)

    def note_read(self, step: str, bytes_: int) -> None:
        self.read[step] = bytes_


def test_an_experiment_is_given_what_the_limits_allow_and_has_the_last_word() -> None:
    switch, lever, noted = Switch(), Lever(), list[Allowance]()
    pacing = Pacing([Source(lambda: GOVERNOR)], [lever], noted.append, switch)
    held: list[Allowance] = []
    found = pacing.heed(CONTRACT, held.append)
    assert switch.seen == [GOVERNOR]
    assert held == noted == [found]
    assert lever.applied == [], "a quota at the brokers would outlast the block"
    assert found.stands_still
    pacing.note_read("replay", 7)
    assert switch.read == {"replay": 7}


def test_only_a_pause_at_the_rate_of_a_standstill_stands_still() -> None:
    assert not replace(GOVERNOR, paused=True).stands_still
    assert not Allowance("throttle", "by hand", STANDSTILL).stands_still


def test_the_pace_is_noted_at_each_change_and_every_five_seconds() -> None:
    noted: list[tuple[float, Allowance]] = []
    now, allowed = 0.0, GOVERNOR
    pacing = Pacing(
        [Source(lambda: allowed)], noted=lambda allowance: noted.append((now, allowance)), clock=lambda: now
    )
    for second in range(12):
        now, allowed = float(second), replace(GOVERNOR, bytes_per_second=1 if second >= 7 else 2)
        pacing.heed(CONTRACT)
    assert [at for at, _ in noted] == [0, 5, 7]


def test_the_meter_has_the_bytes_of_all_steps() -> None:
    pacing = Pacing()
    pacing.note_read("slice", 100)
    pacing.note_read("control", 90)
    assert pacing.meter.bytes == 100
