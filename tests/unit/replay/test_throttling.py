"""What a ratio is a part of: the limit now, else the rate of the slices so far."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL
from tests.conformance.run_store.scene import HandClock, walked_to

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.replay.controls import ControlRequest
from anabranch.replay.throttling import NoRateError, base_rate
from anabranch.runs.journal import Outcome
from anabranch.runs.states import State


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(tmp_path: Path, clock: HandClock) -> Iterator[SqlRunStore]:
    with open_store(URL.create("sqlite", database=str(tmp_path / "runs.db")), clock) as opened:
        walked_to(opened, State.REPLAYING)
        yield opened


def paced(store: SqlRunStore, source: str, rate: int | None, *, paused: bool = False) -> None:
    details = {"source": source, "reason": "", "bytes_per_second": rate, "paused": paused}
    store.writer.note_pace("r1", 1, details)


def test_without_any_limit_and_any_slice_there_is_nothing_to_take_a_part_of(store: SqlRunStore) -> None:
    with pytest.raises(NoRateError):
        base_rate(store.reader, "r1")


def test_the_limit_now_is_what_a_ratio_is_a_part_of(store: SqlRunStore) -> None:
    paced(store, "governor", 400)
    assert base_rate(store.reader, "r1") == 400


def test_half_of_it_asked_for_twice_is_still_a_half(store: SqlRunStore) -> None:
    details = {"bytes_per_second": 200, "base": 400}
    store.writer.record_act(ControlRequest.THROTTLE.value, actor="bob", run_id="r1", details=details)
    paced(store, "throttle", 200)
    assert base_rate(store.reader, "r1") == 400


@pytest.mark.parametrize("paced_first", [True, False])
def test_without_a_limit_the_committed_slices_tell_the_rate(
    store: SqlRunStore, clock: HandClock, paced_first: bool
) -> None:
    if paced_first:
        paced(store, "pause", 1, paused=True)
    for number in range(2):
        entry = store.writer.record_intent("r1", 1, "slice", {"slice": f"s{number}"}, intent=f"i{number}")
        clock.advance(timedelta(seconds=5))
        store.writer.record_outcome(entry.id, 1, Outcome.SUCCEEDED, {"ledger": {"bytes": 1000}})
    assert base_rate(store.reader, "r1") == 200
