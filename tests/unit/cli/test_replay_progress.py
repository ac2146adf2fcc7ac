"""What is said of a replay's progress at one moment."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from anabranch.cli.replay_progress import ReplayProgress, duration, line, share
from anabranch.cli.run_progress import RunProgress
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone, SlicePhase, SliceProgress
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.runs.heads import Head

FIRST, SECOND = (Slice(f"s0000{number}", {0: (number * 1000, number * 1000 + 1000)}) for number in range(2))
READING = ReplayProgress(
    "replaying",
    100.0,
    total=2000,
    slice_=FIRST,
    inside=SliceProgress(SlicePhase.READ, 250, 1000, 50_000_000),
    bytes=50_000_000,
    replaying_since=100.0,
)


def test_a_phase_says_how_long_it_has_gone_on() -> None:
    starting = ReplayProgress("starting Spark", 100.0)
    assert [line(starting, now) for now in (100.4, 107.2, 220.0)] == [
        "starting Spark",
        "starting Spark, 7 s",
        "starting Spark, 2 min",
    ]
    assert share(starting) == ""


def test_inside_the_first_slice_there_is_progress_and_time_left() -> None:
    assert share(READING) == "12 %"
    assert line(READING, 105.0) == ("reading slice s00000  250 of 1,000 records  50 records/s  10.0 MB/s  35 s left")


def test_nothing_is_said_of_time_left_before_anything_was_read() -> None:
    inside = SliceProgress(SlicePhase.READ, 0, 1000, 0)
    assert line(replace(READING, inside=inside, bytes=0), 105.0) == "reading slice s00000  0 of 1,000 records"


def test_what_was_staged_before_and_a_pause_count_for_no_rate() -> None:
    resumed = replace(READING, committed=1000, before=1000, slice_=SECOND, paused=60.0)
    assert share(resumed) == "62 %"
    assert line(resumed, 165.0).endswith("250 of 1,000 records  50 records/s  10.0 MB/s  15 s left")


def test_a_slice_that_reads_more_than_its_own_offsets_counts_by_its_share() -> None:
    inside = SliceProgress(SlicePhase.WRITE, 3000, 3000, 0)
    assert replace(READING, inside=inside).done == 1000
    assert line(replace(READING, inside=inside), 105.0).startswith("writing slice s00000  3,000 of 3,000 records")


def test_all_of_it_is_said_when_all_is_committed() -> None:
    assert share(replace(READING, committed=1999, slice_=None)) == "99 %"
    assert share(replace(READING, committed=2000, slice_=None)) == "100 %"
    assert share(replace(READING, total=0, slice_=None)) == "100 %"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (89, "89 s"), (100, "2 min"), (3540, "59 min"), (7500, "2 h 5 min")]
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_off_a_terminal_phases_and_slices_are_lines_and_a_line_says_how_far_the_slice_is() -> None:
    text, now = StringIO(), [100.0]
    watch = RunProgress(Console(file=text, width=200), 2000, lambda: 7, lambda: now[0])
    watch.phase("starting Spark")
    now[0] = 110.0
    watch.remaining([FIRST, SECOND])
    watch.slice_progress(FIRST, SliceProgress(SlicePhase.READ, 500, 1000, 1_000_000))
    now[0] = 120.0
    assert watch.text() == "25 %  reading slice s00000  500 of 1,000 records  50 records/s  0.1 MB/s  30 s left"
    watch.slice_done(FIRST, SliceDone(Head("1"), SliceLedger(2_000_000, {})), 10.0)
    assert text.getvalue().splitlines() == [
        "starting Spark",
        "slice s00000 committed in 10.0 s  50 %  replaying  100 records/s  0.2 MB/s  10 s left  live lag 7",
    ]


def test_a_resumed_run_begins_where_it_was() -> None:
    watch = RunProgress(Console(file=StringIO()), 2000, lambda: None, lambda: 100.0)
    watch.remaining([SECOND])
    assert watch.text() == "50 %  replaying"
