"""The colour of a gate: green was tested, yellow was designed and not tested, red is unknown or failed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Colour(str, Enum):
    GREEN = "green"
    """Tested, with valid evidence."""
    YELLOW = "yellow"
    """Designed, and not tested."""
    RED = "red"
    """Unknown, or tested and failed. `gates/stakes.py` decides what it blocks."""


_ORDER = (Colour.GREEN, Colour.YELLOW, Colour.RED)


def worst(colours: Iterable[Colour]) -> Colour:
    """The worst of several colours; green without any."""
    return max(colours, key=_ORDER.index, default=Colour.GREEN)
