"""A process that ends at a named point, inside this one: nothing after the point runs but what Python unwinds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from anabranch import crashpoints


class DiedError(BaseException):
    """Not an Exception: no handler of the product's may take it for a failure of its own."""


@contextmanager
def dying_at(patch: pytest.MonkeyPatch, point: str) -> Iterator[None]:
    """What runs here must reach the point, and ends there."""

    def die(*_: object) -> None:
        raise DiedError(point)

    with patch.context() as here:
        here.setattr(crashpoints, "os", SimpleNamespace(environ=os.environ, kill=die, getpid=os.getpid))
        here.setattr(crashpoints, "_reached", type(crashpoints._reached)())
        here.setenv("ANABRANCH_CRASH_AT", point)
        with pytest.raises(DiedError):
            yield


def killed_then_done(patch: pytest.MonkeyPatch, point: str, act: Callable[[], object]) -> None:
    """The act, ended at the point and then done again."""
    with dying_at(patch, point):
        act()
    act()
