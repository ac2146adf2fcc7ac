"""Explains the offsets of a slice that had no record, by the headers of the log's record batches. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

NAMED = 5
"""How many ranges of offsets an error names."""


@dataclass(frozen=True)
class RecordBatch:
    """The header of a record batch. Compaction takes records out of a batch and leaves its first and last offset."""

    first: int
    last: int
    records: int
    producer: int = -1
    transactional: bool = False
    control: bool = False
    """Whether its record is the marker of a committed or aborted transaction."""
    aborts: bool = False
    """Whether that marker is an abort marker."""

    @property
    def width(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class FetchedBatches:
    """One fetch of a partition by a reader of committed records."""

    batches: Sequence[RecordBatch]
    aborted: Sequence[tuple[int, int]]
    """Producer and first offset of each aborted transaction that overlaps the fetched offsets."""
    log_start: int
    """Where the partition's log begins."""


@dataclass(frozen=True)
class LogEvidence:
    """What the log holds in [start, end). Of a compacted batch across an end, only bounds are known."""

    start: int
    end: int
    log_start: int
    visible: int = 0
    """Records that a reader of committed records is given, at least."""
    visible_at_most: int = 0
    control: int = 0
    aborted: int = 0
    holes: tuple[tuple[int, int], ...] = ()
    """[start, end) of offsets that no batch covers."""


@dataclass(frozen=True)
class Gap:
    """Offsets at which a reader of committed records finds no record, by what they are."""

    control: int = 0
    aborted: int = 0
    compacted: int = 0
    lost: int = 0


NO_GAP = Gap()


@dataclass(frozen=True)
class Unexplained:
    """Why the offsets without a record are not all explained."""

    what: str


def read_evidence(fetched: Iterable[FetchedBatches], start: int, end: int) -> LogEvidence:
    """Count the offsets of [start, end) by what the batches hold. `fetched` is in the order of offsets."""
    visible = visible_at_most = control = aborted = log_start = 0
    holes: list[tuple[int, int]] = []
    reached = start
    for each in fetched:
        log_start = max(log_start, each.log_start)
        for batch, is_aborted in mark_aborted(each):
            if batch.last < reached or batch.first >= end:
                continue
            if batch.first > reached:
                holes.append((reached, batch.first))
            least, most = records_within(batch, start, end)
            if batch.control:
                control += least
            elif is_aborted:
                aborted += least
            else:
                visible, visible_at_most = visible + least, visible_at_most + most
            reached = batch.last + 1
    if reached < end:
        holes.append((reached, end))
    return LogEvidence(start, end, log_start, visible, visible_at_most, control, aborted, tuple(holes))


def mark_aborted(fetched: FetchedBatches) -> Iterator[tuple[RecordBatch, bool]]:
    """Each batch, and whether it belongs to an aborted transaction: as Kafka's own consumer decides it."""
    waiting = [(first, producer) for producer, first in fetched.aborted]
    heapq.heapify(waiting)
    aborting: set[int] = set()
    for batch in fetched.batches:
        while waiting and waiting[0][0] <= batch.last:
            aborting.add(heapq.heappop(waiting)[1])
        if batch.control and batch.aborts:
            aborting.discard(batch.producer)
        yield batch, batch.transactional and not batch.control and batch.producer in aborting


def records_within(batch: RecordBatch, start: int, end: int) -> tuple[int, int]:
    """At least and at most how many of the batch's records have offsets in [start, end)."""
    inside = min(batch.last + 1, end) - max(batch.first, start)
    return max(0, batch.records - (batch.width - inside)), min(batch.records, inside)


def explain_gap(counted: int, evidence: LogEvidence, *, compacted_topic: bool) -> Gap | Unexplained:
    """What the offsets of the evidence's range are at which none of the `counted` records was.

    Only the log cleaner takes records out of a batch, so those are compacted in any topic. Offsets that no batch covers
    are compacted in a compacted topic only. There the cleaner may run after the read, so that more was counted than is
    left; a record that is left was there to be read in any case.
    """
    width = evidence.end - evidence.start
    missing = width - counted
    if evidence.log_start > evidence.start:
        return Gap(lost=min(missing, evidence.log_start - evidence.start))
    if counted < evidence.visible:
        return Unexplained(f"{evidence.visible} committed records in the log, {counted} counted")
    if compacted_topic:
        return Gap(evidence.control, evidence.aborted, missing - evidence.control - evidence.aborted)
    if counted > evidence.visible_at_most:
        return Unexplained(f"{evidence.visible_at_most} committed records in the log, {counted} counted")
    if evidence.holes:
        return Unexplained(f"no record batch covers offsets {_named(evidence.holes)}, and the topic is not compacted")
    return Gap(evidence.control, evidence.aborted, missing - evidence.control - evidence.aborted)


def _named(ranges: Sequence[tuple[int, int]]) -> str:
    named = ", ".join(f"[{start}, {end})" for start, end in ranges[:NAMED])
    return named if len(ranges) <= NAMED else f"{named} and {len(ranges) - NAMED} more ranges"
