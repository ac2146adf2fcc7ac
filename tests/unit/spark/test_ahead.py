"""Slices before their turn: what was begun is taken once, and what is let go is dropped."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from anabranch.adapters.spark.ahead import Ahead
from anabranch.plan.slices import Slice

FIRST, SECOND = (Slice(f"s0000{number}", {0: (number, number + 1)}) for number in range(2))
PATIENCE = 60


class Maker:
    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, piece: Slice) -> str:
        self.made.append(piece.id)
        return f"files of {piece.id}"


def test_a_slice_is_begun_once_and_given_away_once() -> None:
    ahead, make = Ahead[str](), Maker()
    for piece in (FIRST, SECOND, SECOND):
        ahead.begin(piece, make)
    assert ahead.take(SECOND) == "files of s00001"
    assert ahead.take(FIRST) == "files of s00000"
    assert sorted(make.made) == ["s00000", "s00001"]
    ahead.begin(SECOND, make)
    assert ahead.take(SECOND) == "files of s00001"
    assert make.made[2:] == ["s00001"], "files are committed once: who tries again needs others"


def test_an_error_comes_up_when_the_slice_is_taken() -> None:
    def fail(_: Slice) -> str:
        raise ZeroDivisionError

    ahead = Ahead[str]()
    ahead.begin(SECOND, fail)
    with pytest.raises(ZeroDivisionError):
        ahead.take(SECOND)


def test_what_is_let_go_is_waited_for_and_dropped() -> None:
    ahead, make, dropped, running, go_on = Ahead[str](), Maker(), list[str](), Event(), Event()

    def slow(piece: Slice) -> str:
        running.set()
        assert go_on.wait(PATIENCE)
        return make(piece)

    ahead.begin(FIRST, slow)
    ahead.begin(SECOND, make)
    assert running.wait(PATIENCE)
    letting_go = Thread(target=ahead.let_go, args=(dropped.append,))
    letting_go.start()
    go_on.set()
    letting_go.join(PATIENCE)
    assert sorted(dropped) == sorted(f"files of {each}" for each in make.made), "what was made is gone"
    assert "s00000" in make.made
    with pytest.raises(KeyError):
        ahead.take(FIRST)


def test_a_fault_in_what_is_let_go_is_nobodys_business() -> None:
    def fail(_: Slice) -> str:
        raise ZeroDivisionError

    ahead, dropped = Ahead[str](), list[str]()
    ahead.begin(FIRST, fail)
    ahead.let_go(dropped.append)
    assert dropped == []
