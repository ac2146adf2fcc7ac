"""Slices before their turn: what was begun is taken once, and what is let go is dropped."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from anabranch.adapters.spark.write.prefetch import Prefetch
from anabranch.plan.slices import Slice

FIRST, SECOND, THIRD = (Slice(f"s0000{number}", {0: (number, number + 1)}) for number in range(3))
PATIENCE = 60


class Maker:
    def __init__(self) -> None:
        self.steps: list[str] = []

    def query(self, slice_: Slice) -> str:
        self.steps.append(f"query of {slice_.id}")
        return f"the one of {slice_.id}"

    def make(self, slice_: Slice, query: str) -> str:
        assert query == f"the one of {slice_.id}"
        self.steps.append(f"files of {slice_.id}")
        return f"files of {slice_.id}"


def fail(*_: object) -> str:
    raise ZeroDivisionError


def test_a_slice_is_begun_once_and_given_away_once() -> None:
    maker = Maker()
    ahead = Prefetch(maker.query, maker.make)
    for slice_ in (FIRST, SECOND, SECOND):
        ahead.prefetch(slice_)
    assert ahead.take(SECOND) == "files of s00001"
    assert ahead.take(FIRST) == "files of s00000"
    assert sorted(step for step in maker.steps if "files" in step) == ["files of s00000", "files of s00001"]
    assert len(maker.steps) == 4
    ahead.prefetch(SECOND)
    assert ahead.take(SECOND) == "files of s00001"
    assert maker.steps[4:] == ["query of s00001", "files of s00001"], "files are committed once: again needs others"


def test_two_slices_are_made_at_once_and_the_third_waits_with_its_query_there() -> None:
    maker, queried, second, go_on = Maker(), Event(), Event(), Event()

    def query(slice_: Slice) -> str:
        found = maker.query(slice_)
        if slice_ is THIRD:
            queried.set()
        return found

    def slow(slice_: Slice, query: str) -> str:
        if slice_ is SECOND:
            second.set()
        assert slice_ is THIRD or go_on.wait(PATIENCE)
        return maker.make(slice_, query)

    ahead = Prefetch(query, slow)
    for slice_ in (FIRST, SECOND, THIRD):
        ahead.prefetch(slice_)
    assert second.wait(PATIENCE)
    assert queried.wait(PATIENCE)
    assert maker.steps == ["query of s00000", "query of s00001", "query of s00002"]
    go_on.set()
    assert ahead.take(THIRD) == "files of s00002"
    assert ahead.take(FIRST) == "files of s00000"
    assert ahead.take(SECOND) == "files of s00001"


@pytest.mark.parametrize("faulty", ["query", "make"])
def test_an_error_comes_up_when_the_slice_is_taken(faulty: str) -> None:
    maker = Maker()
    ahead = Prefetch(fail, maker.make) if faulty == "query" else Prefetch(maker.query, fail)
    ahead.prefetch(SECOND)
    with pytest.raises(ZeroDivisionError):
        ahead.take(SECOND)


def test_what_is_let_go_is_waited_for_and_dropped() -> None:
    maker, dropped, running, go_on = Maker(), list[str](), Event(), Event()

    def slow(slice_: Slice, query: str) -> str:
        running.set()
        assert go_on.wait(PATIENCE)
        return maker.make(slice_, query)

    ahead = Prefetch(maker.query, slow)
    for slice_ in (FIRST, SECOND, THIRD):
        ahead.prefetch(slice_)
    assert running.wait(PATIENCE)
    letting_go = Thread(target=ahead.discard_prefetched, args=(dropped.append,))
    letting_go.start()
    go_on.set()
    letting_go.join(PATIENCE)
    made = sorted(step for step in maker.steps if "files" in step)
    assert sorted(dropped) == made, "what was made is gone"
    assert made[0] == "files of s00000"
    with pytest.raises(KeyError):
        ahead.take(FIRST)


def test_a_fault_in_what_is_let_go_is_nobodys_business() -> None:
    ahead, dropped = Prefetch(fail, fail), list[str]()
    ahead.prefetch(FIRST)
    ahead.discard_prefetched(dropped.append)
    assert dropped == []
