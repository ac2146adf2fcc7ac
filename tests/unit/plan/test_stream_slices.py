"""Live's batches joined into slices and their windows closed few by few: by a model of a stream, the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plan.world import JUNE, milliseconds

from anabranch.contract.event_window import EventWindow
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.live_batches import WindowedBatch, window_text
from anabranch.plan.strategies.stream_slices import RangeWindows, cut_stream
from anabranch.plan.target_range import Grain, TimeAxis, widen

MINUTE, LATENESS = 60_000, 10 * 60_000
AXIS = TimeAxis("window_start", Grain.HOUR)
HOURS = 6
"""The range: hours 1 to 4 of June. The events are of hours 0 to 6."""


def window(size: int, slide: int) -> EventWindow:
    return EventWindow.model_validate({"kind": "sliding", "size": f"{size}m", "slide": f"{slide}m", "lateness": "10m"})


@dataclass
class Stream:
    """What Spark does with windows, in plain Python: late by the mark before, closed by the mark of the batch."""

    size: int
    slide: int
    mark: int = 0
    open: dict[int, list[int]] = field(default_factory=dict)
    written: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    late: int = 0

    def batch(self, events: Iterable[int], mark: int) -> None:
        self.late = 0
        for event in events:
            starts = [
                start
                for start in range(event // self.slide * self.slide, event - self.size, -self.slide)
                if start + self.size > event
            ]
            kept = [start for start in starts if start + self.size > self.mark]
            self.late += len(kept) < len(starts)
            for start in kept:
                self.open.setdefault(start, []).append(event)
        done = sorted(start for start in self.open if start + self.size <= mark)
        self.written += [(start, tuple(sorted(self.open.pop(start)))) for start in done]
        self.mark = mark


events_of_a_batch = st.lists(st.integers(0, HOURS * 60 + 59), max_size=6)


@given(
    st.lists(events_of_a_batch, min_size=1, max_size=14),
    st.sampled_from([(60, 60), (60, 30), (45, 20), (10, 10)]),
    st.integers(1, 20),
    st.integers(1, 8),
    st.integers(0, 5),
)
def test_slices_give_the_rows_that_live_gave_whatever_is_joined_or_capped(
    drawn: list[list[int]], shape: tuple[int, int], size: int, cap: int, begin: int
) -> None:
    # After the last events comes one that closes everything.
    log = [[milliseconds(JUNE) + minute * MINUTE for minute in batch] for batch in [*drawn, [HOURS * 60 + 200]]]
    declared = window(*shape)
    live = Stream(shape[0] * MINUTE, shape[1] * MINUTE)
    batches, states, start, mark = [], [], 0, 0
    for number, events in enumerate([*log, []]):
        states.append(deepcopy(live))
        live.batch(events, mark)
        offsets = {0: (start, start + len(events))}
        batches.append(
            WindowedBatch("q", number, "u", offsets, mark, states[-1].mark, live.late, window_text(declared))
        )
        start += len(events)
        mark = max([mark, *(event - LATENESS for event in events)])

    first = min(begin, len(batches) - 1)
    replay = states[first]
    partitions = widen(AXIS, JUNE + timedelta(hours=1), JUNE + timedelta(hours=4))
    windows = RangeWindows.of(declared, partitions)
    slices = cut_stream(batches[first:], replay.mark, declared, windows, size, cap)
    flat = [event for events in log for event in events]
    require_tiled(slices, batches[first].offsets[0][0], len(flat))
    for slice_ in slices:
        begins, end = slice_.offsets[0]
        assert end - begins <= max(size, *map(len, log))
        assert slice_.closes is not None
        before = len(replay.written)
        replay.batch(flat[begins:end], slice_.closes)
        fired = [key for key, _ in replay.written[before:]]
        assert sum(milliseconds(partitions.start) <= key < milliseconds(partitions.end) for key in fired) <= cap
    assert Counter(replay.written) == Counter(live.written)
    assert replay.open == live.open


def require_tiled(slices: Sequence[Slice], start: int, end: int) -> None:
    for slice_ in slices:
        assert slice_.offsets[0][0] == start
        start = slice_.offsets[0][1]
    assert start == end


def test_a_batch_that_says_nothing_of_late_events_or_counted_other_windows_begins_a_slice() -> None:
    hour, half = window(60, 60), window(60, 30)
    said = [
        (0, window_text(hour)),
        (0, window_text(hour)),
        (None, None),
        (0, window_text(half)),
        (3, window_text(hour)),
    ]
    batches = [
        WindowedBatch("q", number, "u", {0: (number, number + 1)}, number, max(0, number - 1), late, text)
        for number, (late, text) in enumerate(said, start=5)
    ]
    windows = RangeWindows.of(hour, widen(AXIS, JUNE, JUNE + timedelta(hours=2)))
    slices = cut_stream(batches, 4, hour, windows, 100, 100)
    assert [slice_.offsets[0] for slice_ in slices] == [(5, 7), (7, 8), (8, 9), (9, 10)]


def test_the_very_first_batch_stands_alone_since_spark_knows_of_none_before_it() -> None:
    hour = window(60, 60)
    batches = [WindowedBatch("q", n, "u", {0: (n, n + 1)}, n, max(0, n - 1), 0, window_text(hour)) for n in range(4)]
    windows = RangeWindows.of(hour, widen(AXIS, JUNE, JUNE + timedelta(hours=2)))
    assert [p.offsets[0] for p in cut_stream(batches, 0, hour, windows, 100, 100)] == [(0, 1), (1, 4)]


def test_batches_that_close_few_windows_are_joined_up_to_the_cap_and_need_no_batch_without_records() -> None:
    hour, begin = window(60, 60), milliseconds(JUNE)
    marks = [begin + n * 60 * MINUTE for n in range(8)]
    closing = [
        WindowedBatch("q", n, "u", {0: (n, n + 1)}, marks[n], marks[n - 1], 0, window_text(hour)) for n in range(2, 8)
    ]
    windows = RangeWindows.of(hour, widen(AXIS, JUNE, JUNE + timedelta(hours=9)))
    slices = cut_stream(closing, marks[1], hour, windows, 100, 2)
    assert [slice_.offsets[0] for slice_ in slices] == [(2, 4), (4, 6), (6, 8)]
    one_jump = [WindowedBatch("q", 2, "u", {0: (2, 8)}, marks[7], marks[1], 0, window_text(hour))]
    apart = cut_stream(one_jump, marks[1], hour, windows, 100, 4)
    assert [(slice_.offsets[0], slice_.closes) for slice_ in apart] == [
        ((2, 8), marks[5]),
        ((8, 8), marks[7]),
    ]
