"""One slice ahead: what was begun is taken once, and only by the slice it was begun for."""

from __future__ import annotations

import pytest

from anabranch.adapters.spark.ahead import Ahead
from anabranch.plan.slices import Slice

FIRST, SECOND, THIRD = (Slice(f"s0000{number}", {0: (number, number + 1)}) for number in range(3))


class Maker:
    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, piece: Slice) -> str:
        self.made.append(piece.id)
        return f"query of {piece.id}"


def test_what_was_begun_is_not_made_again() -> None:
    ahead, make = Ahead[str](), Maker()
    ahead.start(SECOND, make)
    assert ahead.take(SECOND, make) == "query of s00001"
    assert make.made == ["s00001"]
    assert ahead.take(SECOND, make) == "query of s00001"
    assert make.made == ["s00001", "s00001"], "a frame is written once: who tries again needs another"


def test_a_slice_never_gets_the_query_of_another() -> None:
    ahead, make = Ahead[str](), Maker()
    ahead.start(SECOND, make)
    assert ahead.take(THIRD, make) == "query of s00002"
    assert ahead.take(FIRST, make) == "query of s00000"


def test_an_error_comes_up_when_the_slice_is_taken() -> None:
    def fail(_: Slice) -> str:
        raise ZeroDivisionError

    ahead = Ahead[str]()
    ahead.start(SECOND, fail)
    with pytest.raises(ZeroDivisionError):
        ahead.take(SECOND, Maker())
