"""Slices: together the range, each offset once, whatever the ranges are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fixtures.properties import examples

from anabranch.plan.offsets.intervals import Intervals, union
from anabranch.plan.slices import cut, ranges_of, slice_size, uncounted

RANGES = st.dictionaries(
    st.integers(0, 9),
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 400)).map(lambda t: (t[0], t[0] + t[1])), min_size=1).map(
        union
    ),
    min_size=1,
)


@given(RANGES, st.integers(1, 300))
@settings(max_examples=examples(200, 5_000), deadline=None)
def test_every_offset_is_in_exactly_one_slice(ranges: dict[int, Intervals], size: int) -> None:
    slices = cut(ranges, size)
    found = [(p, at) for slice_ in slices for p, (start, end) in slice_.offsets.items() for at in range(start, end)]
    wanted = [(p, at) for p, each in sorted(ranges.items()) for start, end in each for at in range(start, end)]
    assert sorted(found, key=lambda each: each[0]) == wanted, "each once, and of a partition in order"
    assert ranges_of(slices) == ranges
    assert len({slice_.id for slice_ in slices}) == len(slices)
    assert all(0 < slice_.width <= size + len(ranges) for slice_ in slices)
    assert [slice_.id for slice_ in slices] == sorted(slice_.id for slice_ in slices)


def test_the_usual_size_counts_all_ranges() -> None:
    assert slice_size({0: ((0, 20_000), (30_000, 60_000)), 1: ((0, 50_000),)}) == 50_000


@pytest.mark.parametrize(
    ("offsets", "size"),
    [
        (100, 10_000),
        (600_000, 300_000),
        (1_000_000, 450_000),
        (6_000_000, 450_000),
        (24_000_000, 1_000_000),
        (10**9, 2_000_000),
        (10**10, 10_000_000),
    ],
)
def test_the_usual_size_grows_with_the_work(offsets: int, size: int) -> None:
    assert slice_size({0: ((7, 7 + offsets),)}) == size


def test_what_the_zone_map_has_counted_is_left_out() -> None:
    slices = uncounted({0: (0, 10), 1: (5, 8), 2: (0, 4)}, {0: ((2, 4), (6, 7)), 2: ((0, 4),)}, 100)
    assert ranges_of(slices) == {0: ((0, 2), (4, 6), (7, 10)), 1: ((5, 8),)}
    assert uncounted({0: (0, 10)}, {0: ((0, 10),)}, 100) == ()
