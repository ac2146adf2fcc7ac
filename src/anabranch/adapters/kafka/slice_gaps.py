"""Explains the offsets of a slice that had no record by the log's batch headers, or fails the slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.log_scan import UNLIMITED, ScanFailedError, ScanPace, scan_log
from anabranch.plan.plan import PlannedSource
from anabranch.plan.slices import Offsets, Slice
from anabranch.replay.gaps import Gap, LogEvidence, Unexplained, explain_gap
from anabranch.replay.ledger import UNSTAGED, LedgerError


@dataclass(frozen=True)
class SliceGaps:
    kafka: KafkaAccess
    client_id: str
    source: PlannedSource
    run_id: str
    pace: ScanPace = UNLIMITED

    def explain(self, slice_: Slice, counted: Mapping[int, int]) -> tuple[dict[int, Gap], int]:
        """The gap of each partition that has one, and how many bytes were read to explain them (0 without a gap).

        Raises LedgerError if the log has a record that was not counted, if it does not explain an offset, or if it
        could not be scanned.
        """
        short = {p: (start, end) for p, (start, end) in slice_.offsets.items() if counted[p] < end - start}
        if not short:
            return {}, 0
        evidence, scanned = self._scan(slice_, short)
        return {p: self._gap(slice_, p, counted[p], each) for p, each in evidence.items()}, scanned

    def _scan(self, slice_: Slice, short: Offsets) -> tuple[dict[int, LogEvidence], int]:
        try:
            return scan_log(self.kafka, self.client_id, self.source.topic, short, self.pace)
        except ScanFailedError as failed:
            raise LedgerError(
                f"Slice {slice_.id}: fewer records than offsets in partitions {sorted(short)}, and the record batch "
                f"headers "
                "that could explain it were not readable.",
                state=UNSTAGED,
                command=f"anabranch retry {self.run_id}",
                slice=slice_.id,
                partitions=sorted(short),
            ) from failed

    def _gap(self, slice_: Slice, partition: int, counted: int, evidence: LogEvidence) -> Gap:
        gap = explain_gap(counted, evidence, compacted_topic=bool(self.source.compacted))
        if isinstance(gap, Unexplained) or gap.lost:
            reason = gap.what if isinstance(gap, Unexplained) else _deleted(evidence)
            raise LedgerError(
                f"Slice {slice_.id}, partition {partition}, offsets [{evidence.start}, {evidence.end}): {reason}.",
                state=UNSTAGED,
                command=f"anabranch retry {self.run_id}",
                slice=slice_.id,
                partition=partition,
                offsets=[evidence.start, evidence.end],
            )
        return gap


def _deleted(evidence: LogEvidence) -> str:
    return f"offsets below {evidence.log_start} were deleted from the topic by retention"
