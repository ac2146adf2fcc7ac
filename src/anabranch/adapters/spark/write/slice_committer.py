"""The commit of a slice to its staging branch, with rows and ledger; looked up if its response was lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.table import HistoryGoneError
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.write.clustering import CLUSTERED
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.adapters.spark.write.progress import ProgressTracker
from anabranch.adapters.spark.write.slice_errors import SliceFailedError
from anabranch.crashpoints import reach
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SlicePhase
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head


@dataclass(frozen=True)
class SliceCommitter:
    job: SliceJob
    progress: ProgressTracker

    def properties(self, slice_: Slice, staging: Staging, ledger: SliceLedger) -> dict[str, str]:
        """The snapshot's summary, from which a resumed run and validation read progress and ledger."""
        return {
            props.RUN: self.job.run_id,
            props.EPOCH: str(staging.epoch),
            props.SLICE: slice_.id,
            props.OFFSETS: props.write_offsets(slice_.offsets),
            props.LEDGER: json.dumps(ledger.document(), separators=(",", ":")),
        }

    def append(self, rows: DataFrame, slice_: Slice, staging: Staging, ledger: SliceLedger) -> Head:
        """Append the rows with Spark's DataFrame writer and return the snapshot."""
        properties = self.properties(slice_, staging, ledger)
        options = {**CLUSTERED, **{f"snapshot-property.{name}": value for name, value in properties.items()}}
        return self.perform(rows.writeTo(self.job.branch(staging)).options(**options).append, slice_, staging)

    def perform(self, commit: Callable[[], None], slice_: Slice, staging: Staging) -> Head:
        """Call `commit` once and return the snapshot that it made.

        If it raises, looks the slice up in the branch: the response may have been lost after the commit. Raises
        SliceFailedError if it returned and the current branch lacks the slice: another epoch superseded this one.
        """
        self.begin(slice_)
        try:
            commit()
        except (PySparkException, Py4JError):
            snapshot = self.find(slice_, staging)
            if snapshot is None:
                raise
            return snapshot
        reach("slice.commit.after")
        return self.require(slice_, staging)

    def begin(self, slice_: Slice) -> None:
        self.progress.enter(slice_, SlicePhase.COMMIT)
        reach("slice.commit.before")

    def require(self, slice_: Slice, staging: Staging) -> Head:
        """The slice's snapshot in the staging branch."""
        snapshot = self.find(slice_, staging)
        if snapshot is None:
            raise SliceFailedError(
                f"Slice {slice_.id} discarded: epoch {staging.epoch} was superseded and its staging branch is gone.",
                state="Production unchanged. The staging branch in use is unchanged.",
                command=f"anabranch status {self.job.run_id}",
                hint="see which epoch is in use and who runs it",
                slice=slice_.id,
            )
        return snapshot

    def find(self, slice_: Slice, staging: Staging) -> Head | None:
        target = IcebergTarget(self.job.catalog.open(), self.job.plan.target.table)
        try:
            staged = target.staged_slices(staging.name, staging.root or staging.head)
        except HistoryGoneError:
            return None  # the branch is gone, or Spark's append has created it again from main
        return next((each.head for each in staged if each.slice_id == slice_.id), None)
