"""Seconds under a limit, from audit records: never less than before, and none after a process has died."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from anabranch.monitoring.throttling import Throttling
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant_text

START = datetime(2025, 6, 1, tzinfo=timezone.utc)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def record(seq: int, action: str, *, seconds: float, to_state: str | None = None, **details: object) -> AuditRecord:
    words = json.dumps(details)
    return AuditRecord(seq, instant_text(at(seconds)), "me", "r", action, None, to_state, 1, words, "", "")


def limit(seq: int, seconds: float, source: str, rate: int | None = 5, *, paused: bool = False) -> AuditRecord:
    return record(seq, "pace.changed", seconds=seconds, source=source, bytes_per_second=rate, paused=paused)


def test_a_limit_holds_until_the_next_one_and_to_the_end_of_the_replay() -> None:
    throttling = Throttling()
    throttling.add(
        [
            limit(1, 0, "contract"),
            limit(2, 10, "governor"),
            limit(3, 40, "none", None),
            limit(4, 50, "budget", None, paused=True),
            record(5, "run.stage", seconds=55, to_state="staged"),
            record(6, "service.silent", seconds=99),
        ]
    )
    throttling.count_open(at(1000), {"r": at(2000)})
    assert throttling.seconds == {("r", "contract"): 10, ("r", "governor"): 30, ("r", "budget"): 5}
    assert throttling.last == 6


def test_a_pause_by_an_operator_ends_what_the_limit_held() -> None:
    throttling = Throttling()
    throttling.add([limit(1, 0, "throttle"), record(2, "run.pause", seconds=7, to_state="paused")])
    throttling.count_open(at(100), {"r": at(200)})
    assert throttling.seconds == {("r", "throttle"): 7}


def test_of_a_process_that_died_time_counts_until_its_lease_expired() -> None:
    throttling = Throttling()
    throttling.add([limit(1, 0, "governor")])
    throttling.count_open(at(20), {"r": at(30)})
    assert throttling.seconds == {("r", "governor"): 20}
    throttling.count_open(at(500), {"r": at(30)})
    assert throttling.seconds == {("r", "governor"): 30}
    throttling.add([record(2, "lease.acquire", seconds=900), record(3, "run.retry", seconds=901, to_state="replaying")])
    throttling.count_open(at(1000), {"r": at(1030)})
    assert throttling.seconds == {("r", "governor"): 30}


def test_a_run_without_a_lease_is_not_counted() -> None:
    throttling = Throttling()
    throttling.add([limit(1, 0, "governor")])
    throttling.count_open(at(20), {})
    assert dict(throttling.seconds) == {}


ACTIONS = st.sampled_from(["none", "contract", "governor", "run.pause", "lease.acquire", "lease.release", "count"])


@given(steps=st.lists(st.tuples(ACTIONS, st.integers(0, 50))))
def test_a_value_never_falls_and_the_sum_is_at_most_the_time_that_passed(steps: Sequence[tuple[str, int]]) -> None:
    throttling, seconds, before = Throttling(), 0, dict[tuple[str, str], float]()
    for seq, (action, passed) in enumerate(steps, start=1):
        seconds += passed
        if action == "count":
            throttling.count_open(at(seconds), {"r": at(seconds + 10)})
        elif "." in action:
            throttling.add([record(seq, action, seconds=seconds, to_state="paused" if "run" in action else None)])
        else:
            throttling.add([limit(seq, seconds, action, None if action == "none" else 5)])
        assert all(throttling.seconds[held] >= value for held, value in before.items())
        before = dict(throttling.seconds)
    assert sum(before.values()) <= seconds
