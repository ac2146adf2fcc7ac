"""The lowest of all limits counts, and names who set it."""

from dataclasses import replace

from anabranch.replay.allowance import UNLIMITED, Allowance, lowest

CONTRACT = Allowance("contract", "budget.bytesPerSecond", 20_000_000)
GOVERNOR = Allowance("governor", "live lag 41 s, target 10 s", 5_000_000)
PAUSED = Allowance("governor", "no reading of live for 300 s", 1_000_000, paused=True)


def test_the_lowest_rate_counts() -> None:
    assert lowest([CONTRACT, UNLIMITED, GOVERNOR]) is GOVERNOR


def test_a_pause_counts_before_any_rate() -> None:
    assert lowest([Allowance("throttle", "anabranch throttle", 2_000_000), PAUSED]) is PAUSED


def test_with_a_pause_the_lowest_rate_holds_for_the_slice_in_flight() -> None:
    """A pause without a rate of its own must not lift the limit of a slice that is being read."""
    hours = Allowance("schedule", "outside its hours", paused=True)
    assert lowest([CONTRACT, hours]) == replace(hours, bytes_per_second=CONTRACT.bytes_per_second)
    assert lowest([Allowance("throttle", "anabranch throttle", 1), PAUSED]) == replace(PAUSED, bytes_per_second=1)


def test_the_first_of_equals_counts() -> None:
    assert lowest([CONTRACT, Allowance("budget", "share", CONTRACT.bytes_per_second)]) is CONTRACT


def test_without_any_limit_there_is_none() -> None:
    assert lowest([]) == UNLIMITED
    assert lowest([UNLIMITED, CONTRACT]) is CONTRACT
