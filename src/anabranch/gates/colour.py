"""How far something is known: green was tested, yellow was designed and not tested, red is unknown or failed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Colour(str, Enum):
    GREEN = "green"
    """Tested, with evidence that still counts."""
    YELLOW = "yellow"
    """Designed, and not tested."""
    RED = "red"
    """Unknown, or tested and failed. `gates/stakes.py` says what it blocks."""


_ORDER = (Colour.GREEN, Colour.YELLOW, Colour.RED)


def worst(colours: Iterable[Colour]) -> Colour:
    """The one that counts where several come together; with none there is nothing against it."""
    return max(colours, key=_ORDER.index, default=Colour.GREEN)
