"""Writes a slice of an append-only table with Spark's DataFrame writer, for any transform."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.adapters.spark.decode.decode import bad_of
from anabranch.adapters.spark.ports import ReadSlice
from anabranch.adapters.spark.transform.output_rows import COORDINATES
from anabranch.adapters.spark.write.accounting import append_fates, read_counts, row_counts, total
from anabranch.adapters.spark.write.steps import SliceSteps, persisted
from anabranch.crashpoints import reach
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone, SlicePhase
from anabranch.replay.staging import Staging


@dataclass(frozen=True)
class AppendWriter:
    steps: SliceSteps

    def records_to_read(self, slice_: Slice) -> int:
        return slice_.width

    def write(self, slice_: Slice, staging: Staging, read: ReadSlice) -> SliceDone:
        steps = self.steps
        with steps.errors.attributed(slice_), persisted(steps.decode(read(slice_))) as decoded:
            counts = read_counts(decoded, steps.range.in_range)
            steps.quarantine.set_aside(slice_, bad_of(decoded), total("bad", counts))
            reach("slice.write.before")
            steps.progress.enter(slice_, SlicePhase.WRITE)
            with persisted(steps.rows.of(decoded)) as rows:
                steps.range.require_in_range(slice_, rows)
                ledger = steps.accounting.ledger(slice_, total("bytes", counts), counts, row_counts(rows), append_fates)
                reach("slice.write.after")
                snapshot = steps.commit.append(rows.drop(*COORDINATES), slice_, staging, ledger)
        return SliceDone(snapshot, ledger)
