"""One red is enough."""

from __future__ import annotations

import pytest

from anabranch.gates.colour import Colour, worst

GREEN, YELLOW, RED = Colour.GREEN, Colour.YELLOW, Colour.RED


@pytest.mark.parametrize(
    ("colours", "counts"),
    [((), GREEN), ((GREEN, GREEN), GREEN), ((GREEN, YELLOW), YELLOW), ((RED, GREEN, YELLOW), RED)],
)
def test_the_worst_colour_counts(colours: tuple[Colour, ...], counts: Colour) -> None:
    assert worst(colours) is counts
