"""From decoded records to rows of the target within the plan's range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.spark.decode.decode import EVENT_TIME, events_of
from anabranch.adapters.spark.transform.output_rows import COORDINATES, align
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import PartitionRange, TargetPart
from anabranch.replay.ledger import UNSTAGED


class RowOutsideError(AnabranchError):
    code = "replay.row-outside-range"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class RangeFilter:
    """Filters for events and rows of the replaced range; all pass if the plan replaces the whole table."""

    partitions: TargetPart

    @cached_property
    def in_range(self) -> Column:
        """Whether an event's time is in the range."""
        if not isinstance(self.partitions, PartitionRange):
            return F.lit(True)
        return (F.col(EVENT_TIME) >= F.lit(self.partitions.start)) & (F.col(EVENT_TIME) < F.lit(self.partitions.end))

    @cached_property
    def row_in_range(self) -> Column:
        """Whether a row's partition is in the range. A row without a time is outside."""
        if not isinstance(self.partitions, PartitionRange):
            return F.lit(True)
        time = F.col(f"`{self.partitions.axis.column}`")
        inside = (time >= F.lit(self.partitions.start)) & (time < F.lit(self.partitions.end))
        return F.coalesce(inside, F.lit(False))

    def require_in_range(self, slice_: Slice, rows: DataFrame) -> None:
        """Raise RowOutsideError for a row outside: it would be added to a partition that is not replaced, beside the
        row that live wrote for the same event."""
        if not isinstance(self.partitions, PartitionRange):
            return
        column = self.partitions.axis.column
        outside = rows.where(~self.row_in_range).select(*COORDINATES, F.col(f"`{column}`").alias("at")).first()
        if outside is not None:
            raise RowOutsideError(
                f"For partition {outside['_partition']}, offset {outside['_offset']} the transform returned "
                f"{column} = {outside['at']}, which is outside the range.",
                state=UNSTAGED,
                hint=f"keep {column} within the partition of the event's own time",
                slice=slice_.id,
            )


@dataclass(frozen=True)
class TargetRows:
    """The transform between the range's filter and the target's columns."""

    job: SliceJob
    range: RangeFilter

    def of(self, decoded: DataFrame) -> DataFrame:
        """The rows of the good records in the range: the target's columns, and the coordinates of each row's event."""
        events = events_of(decoded).where(self.range.in_range)
        return align(self.job.transform(events), self.job.columns, keep=tuple(COORDINATES))
