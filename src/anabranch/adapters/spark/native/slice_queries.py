"""The query of a slice that reads, counts and writes in one pass: optimised once, planned for each slice's offsets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.spark.decode.decode import BYTES, REASON, TOMBSTONE
from anabranch.adapters.spark.native.data_files import FilesTemplate, PlannedFiles
from anabranch.adapters.spark.native.record_counter import CountSpec, RecordCounter
from anabranch.adapters.spark.transform.output_rows import COORDINATES
from anabranch.adapters.spark.write.steps import SliceSteps
from anabranch.plan.slices import Slice

READ = ("in_range", "out_of_range", "bad", "tombstones")
"""Kinds of records, in the order of the counter's numbers."""
ROWS = ("rows", "strays")
"""Kinds of rows: in the range, or outside."""
_ONE_ROW_AT_MOST = frozenset({"Project", "Filter", "SubqueryAlias", "View"})


@dataclass(frozen=True)
class SliceTemplate:
    """The query that the slices share. Its own counters are never used."""

    files: FilesTemplate
    read: RecordCounter
    rows: RecordCounter


@dataclass(frozen=True)
class SliceQuery:
    """A slice's planned files and its counters."""

    planned: PlannedFiles
    read: RecordCounter
    rows: RecordCounter


@dataclass(frozen=True)
class SliceQueries:
    steps: SliceSteps

    def prepare(self, slice_: Slice) -> None:
        """Optimise the query that all slices share. Nothing is read."""
        with self.steps.errors.attributed(slice_):
            self._template(slice_)

    def of(self, slice_: Slice) -> SliceQuery | None:
        """The slice's planned query; None if one pass is not possible because an event may give several rows."""
        with self.steps.errors.attributed(slice_):
            template = self._template(slice_)
            if template is None:
                return None
            source = self.steps.source
            read, rows = self._counters(slice_)
            counters = dict((read.in_place_of(template.read), rows.in_place_of(template.rows)))
            planned = template.files.planned(
                source.slice_options(slice_), counters, client=source.client_id, name=source.metered_name(slice_)
            )
            return SliceQuery(planned, read, rows)

    def _template(self, slice_: Slice) -> SliceTemplate | None:
        """Built for the first requested slice, which need not be the plan's first."""
        if not self._templates:
            self._templates.append(self._make(slice_))
        return self._templates[0]

    def _make(self, slice_: Slice) -> SliceTemplate | None:
        steps = self.steps
        read, rows = self._counters(slice_)
        records_spec, rows_spec = self._specs
        # Without the metering filter: the reader of each slice's query meters its records.
        events = read.on(steps.decode(steps.source.read_unmetered(slice_)), records_spec)
        made = steps.rows.of(events)
        if not one_row_at_most(made, events):
            return None
        counted = rows.on(made, rows_spec).drop(*COORDINATES)
        files = FilesTemplate(counted, steps.job.catalog, steps.job.plan.target.table)
        return SliceTemplate(files, read, rows) if files.takes_offsets else None

    @cached_property
    def _templates(self) -> list[SliceTemplate | None]:
        """Empty before the first use; then the query, or None if one pass is not possible."""
        return []

    def _counters(self, slice_: Slice) -> tuple[RecordCounter, RecordCounter]:
        read, rows = (RecordCounter(self.steps.job.spark, tuple(slice_.offsets), kinds) for kinds in (READ, ROWS))
        return read, rows

    @cached_property
    def _specs(self) -> tuple[CountSpec, CountSpec]:
        """The counters of a slice's records and rows. The same for all slices."""
        kind = F.when(self.steps.range.row_in_range, ROWS.index("rows")).otherwise(ROWS.index("strays"))
        return CountSpec.of(len(READ), self._kind(), F.col(BYTES)), CountSpec.of(len(ROWS), kind)

    def _kind(self) -> Column:
        """The kind of a record, an index into `READ`."""
        return (
            F.when(F.col(TOMBSTONE), READ.index("tombstones"))
            .when(F.col(REASON).isNotNull(), READ.index("bad"))
            .when(self.steps.range.in_range, READ.index("in_range"))
            .otherwise(READ.index("out_of_range"))
        )


def one_row_at_most(rows: DataFrame, events: DataFrame) -> bool:
    """Whether no event can give two rows: the plan above the events has only projections and filters."""
    node, floor = (frame._jdf.queryExecution().analyzed() for frame in (rows, events))
    while node != floor:
        if node.nodeName() not in _ONE_ROW_AT_MOST:
            return False
        node = node.children().head()
    return True
