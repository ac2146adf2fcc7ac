"""Writes a slice of a keyed table: merges its changes into the staging branch."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.adapters.spark.decode.decode import bad_of
from anabranch.adapters.spark.keyed.changes import KeyedChanges, change_counts
from anabranch.adapters.spark.keyed.merge import merge
from anabranch.adapters.spark.ports import ReadSlice
from anabranch.adapters.spark.transform.materialize import materialized
from anabranch.adapters.spark.write.accounting import read_counts, total
from anabranch.adapters.spark.write.steps import SliceSteps, persisted
from anabranch.crashpoints import reach
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone, SlicePhase
from anabranch.replay.staging import Staging


@dataclass(frozen=True)
class MergeWriter:
    steps: SliceSteps

    def records_to_read(self, slice_: Slice) -> int:
        return slice_.width

    def write(self, slice_: Slice, staging: Staging, read: ReadSlice) -> SliceDone:
        steps, job = self.steps, self.steps.job
        with steps.errors.attributed(slice_), persisted(steps.decode(read(slice_))) as decoded:
            counts = read_counts(decoded, steps.range.in_range)
            steps.quarantine.set_aside(slice_, bad_of(decoded), total("bad", counts))
            reach("slice.write.before")
            steps.progress.enter(slice_, SlicePhase.WRITE)
            branch = job.branch(staging)
            keyed = KeyedChanges(job.pipeline.spec, job.transform, job.columns)
            with materialized(keyed.of(decoded, job.spark.table(branch))) as changes:
                keyed.require_sound(changes)
                ledger = steps.accounting.ledger(
                    slice_, total("bytes", counts), counts, change_counts(changes), keyed.fates
                )
                reach("slice.write.after")
                properties = steps.commit.properties(slice_, staging, ledger)
                steps.commit.begin(slice_)
                merge(
                    changes,
                    branch,
                    keyed.keys,
                    keyed.columns.names,
                    properties,
                    lambda: steps.commit.find(slice_, staging) is not None,
                )
            reach("slice.commit.after")
            return SliceDone(steps.commit.require(slice_, staging), ledger)
