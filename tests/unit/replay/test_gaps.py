"""Offsets without a record, explained by batch headers: each for what it is, and a dropped record never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.properties import effort

from anabranch.replay.gaps import (
    FetchedBatches,
    Gap,
    LogEvidence,
    RecordBatch,
    Unexplained,
    explain_gap,
    read_evidence,
)


@dataclass
class Log:
    """A partition's log, written as a broker would, with what each offset is beside it."""

    batches: list[RecordBatch] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    """Producer, first offset and offset of the abort marker."""
    open: dict[int, list[int]] = field(default_factory=dict)

    def data(self, count: int, producer: int = -1, *, transactional: bool = False) -> None:
        first = len(self.kinds)
        if transactional:
            self.open.setdefault(producer, []).extend(range(first, first + count))
        self.batches.append(RecordBatch(first, first + count - 1, count, producer, transactional))
        self.kinds += ["visible"] * count

    def end(self, producer: int, *, commit: bool) -> None:
        at, offsets = len(self.kinds), self.open.pop(producer, [])
        if not commit and offsets:
            self.aborted.append((producer, offsets[0], at))
            for offset in offsets:
                self.kinds[offset] = "aborted"
        self.batches.append(RecordBatch(at, at, 1, producer, transactional=True, control=True, aborts=not commit))
        self.kinds.append("control")

    def compact(self, gone: set[int], batches_gone: set[int]) -> None:
        """Take records out: their batches stay, emptied or not, but for those that go too.

        The log cleaner keeps an abort marker for as long as the broker lists its transaction as aborted.
        """
        markers = {batch.first for batch in self.batches if batch.aborts}
        gone = gone - markers
        kept = []
        for number, batch in enumerate(self.batches):
            offsets = range(batch.first, batch.last + 1)
            if number in batches_gone and not batch.aborts:
                gone = gone | set(offsets)
            else:
                kept.append(replace(batch, records=sum(offset not in gone for offset in offsets)))
        self.kinds = ["compacted" if offset in gone else kind for offset, kind in enumerate(self.kinds)]
        self.batches = kept

    def fetched(self, start: int, sizes: Sequence[int]) -> list[FetchedBatches]:
        """The batches from the one that holds `start` on, in fetches of so many."""
        left = [batch for batch in self.batches if batch.last >= start]
        found = []
        for size in [*sizes, len(left)]:
            part, left = left[:size], left[size:]
            if part:
                since, until = part[0].first, part[-1].last
                known = [(p, first) for p, first, marker in self.aborted if first <= until and marker >= since]
                found.append(FetchedBatches(part, known, 0))
        return found


@st.composite
def logs(draw: st.DrawFn) -> Log:
    log = Log()
    for act in draw(st.lists(st.sampled_from(["plain", "transaction", "commit", "abort"]), min_size=1, max_size=25)):
        producer, count = draw(st.integers(1, 3)), draw(st.integers(1, 8))
        if act == "plain":
            log.data(count)
        elif act == "transaction":
            log.data(count, producer, transactional=True)
        else:
            log.end(producer, commit=act == "commit")
    for producer in list(log.open):
        log.end(producer, commit=draw(st.booleans()))
    return log


@st.composite
def scans(draw: st.DrawFn, *, compacted: bool, whole: bool = False) -> tuple[Log, int, int, LogEvidence]:
    log = draw(logs())
    if compacted:
        gone = draw(st.sets(st.integers(0, len(log.kinds) - 1)))
        log.compact(gone, draw(st.sets(st.integers(0, len(log.batches) - 1))))
    start = 0 if whole else draw(st.integers(0, len(log.kinds) - 1))
    end = len(log.kinds) if whole else draw(st.integers(start + 1, len(log.kinds)))
    sizes = draw(st.lists(st.integers(1, 5), max_size=10))
    return log, start, end, read_evidence(log.fetched(start, sizes), start, end)


@effort(200, 10_000)
@given(scans(compacted=False))
def test_every_offset_of_a_log_is_told_for_what_it_is(scan: tuple[Log, int, int, LogEvidence]) -> None:
    log, start, end, evidence = scan
    kinds = Counter(log.kinds[start:end])
    assert evidence.visible == evidence.visible_at_most == kinds["visible"]
    assert evidence.holes == ()
    assert explain_gap(kinds["visible"], evidence, compacted_topic=False) == Gap(kinds["control"], kinds["aborted"])


@effort(200, 10_000)
@given(scans(compacted=False), st.booleans())
def test_no_record_that_was_dropped_is_explained(scan: tuple[Log, int, int, LogEvidence], compacted: bool) -> None:
    *_, evidence = scan
    for dropped in range(1, evidence.visible + 1):
        gap = explain_gap(evidence.visible - dropped, evidence, compacted_topic=compacted)
        assert gap == Unexplained(
            f"{evidence.visible} committed records in the log, {evidence.visible - dropped} counted"
        )


@effort(200, 10_000)
@given(scans(compacted=False))
def test_aborted_records_that_were_counted_are_not_explained(scan: tuple[Log, int, int, LogEvidence]) -> None:
    *_, evidence = scan
    for too_many in range(1, evidence.aborted + 1):
        assert isinstance(explain_gap(evidence.visible + too_many, evidence, compacted_topic=False), Unexplained)


@effort(200, 10_000)
@given(scans(compacted=True), st.data())
def test_a_compacted_log_explains_what_is_left_and_what_went_since_the_read(
    scan: tuple[Log, int, int, LogEvidence], data: st.DataObject
) -> None:
    log, start, end, evidence = scan
    kinds = Counter(log.kinds[start:end])
    assert evidence.visible <= kinds["visible"] <= evidence.visible_at_most
    since = data.draw(st.integers(0, kinds["compacted"]))
    gap = explain_gap(kinds["visible"] + since, evidence, compacted_topic=True)
    assert isinstance(gap, Gap)
    assert gap.control == kinds["control"]
    assert gap.aborted <= kinds["aborted"]
    assert gap.control + gap.aborted + gap.compacted == end - start - kinds["visible"] - since


@effort(200, 10_000)
@given(scans(compacted=True, whole=True))
def test_whole_batches_of_a_compacted_log_hide_no_dropped_record(scan: tuple[Log, int, int, LogEvidence]) -> None:
    log, *_, evidence = scan
    visible = Counter(log.kinds)["visible"]
    assert evidence.visible == evidence.visible_at_most == visible
    for dropped in range(1, visible + 1):
        assert isinstance(explain_gap(visible - dropped, evidence, compacted_topic=True), Unexplained)


def test_offsets_that_no_batch_covers_are_compacted_in_a_compacted_topic_only() -> None:
    batches = [RecordBatch(10, 14, 5), RecordBatch(18, 19, 2)]
    evidence = read_evidence([FetchedBatches(batches, (), 0)], 10, 25)
    assert evidence.holes == ((15, 18), (20, 25))
    assert explain_gap(7, evidence, compacted_topic=True) == Gap(compacted=8)
    gap = explain_gap(7, evidence, compacted_topic=False)
    assert isinstance(gap, Unexplained)
    assert gap.what == "no record batch covers offsets [15, 18), [20, 25), and the topic is not compacted"


def test_a_batch_with_records_taken_out_was_compacted_whatever_the_topic_says_now() -> None:
    evidence = read_evidence([FetchedBatches([RecordBatch(0, 9, 6)], (), 0)], 0, 10)
    assert explain_gap(6, evidence, compacted_topic=False) == Gap(compacted=4)
    assert isinstance(explain_gap(5, evidence, compacted_topic=False), Unexplained)


@pytest.mark.parametrize(("counted", "lost"), [(3, 5), (7, 3), (0, 5)])
def test_offsets_below_the_logs_start_are_lost(counted: int, lost: int) -> None:
    evidence = read_evidence([FetchedBatches([RecordBatch(15, 19, 5)], (), 15)], 10, 20)
    assert explain_gap(counted, evidence, compacted_topic=True) == Gap(lost=lost)


def test_a_log_of_which_nothing_is_left() -> None:
    evidence = read_evidence([FetchedBatches((), (), 40)], 10, 20)
    assert explain_gap(0, evidence, compacted_topic=False) == Gap(lost=10)
