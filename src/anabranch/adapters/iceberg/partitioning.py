"""Whether a table that exists is partitioned as its pipeline says."""

from __future__ import annotations

import json

from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, TruncateTransform, VoidTransform

from anabranch.contract.partitioning import PartitionField, PartitionFields, fields_of
from anabranch.contract.pipeline import PipelineSpec
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


class OtherPartitioningError(AnabranchError):
    code = "target.other-partitioning"
    exit_code = ExitCode.REFUSED


def partitioning_of(table: Table) -> PartitionFields:
    """The table's present partitioning. A field that was dropped from it is left as void, and counts as none."""
    columns = table.schema()
    found = []
    for field in table.spec().fields:
        if isinstance(field.transform, VoidTransform):
            continue
        width = None
        if isinstance(field.transform, BucketTransform):
            width = field.transform.num_buckets
        if isinstance(field.transform, TruncateTransform):
            width = field.transform.width
        name = str(field.transform).split("[")[0]
        found.append(PartitionField(name, columns.find_field(field.source_id).name, width))
    return tuple(found)


def require_partitioning(table: Table, spec: PipelineSpec) -> None:
    """Refuse a table whose partitioning is not the one that the pipeline names; any will do if it names none."""
    if spec.target.partition_by is None:
        return
    wanted, present = fields_of(spec.target.partition_by), partitioning_of(table)
    if len(wanted) == len(present) and all(map(_same, wanted, present)):
        return
    is_now = f"partitioned by {_words(present)}" if present else "not partitioned"
    raise OtherPartitioningError(
        f"{spec.target.table} is {is_now}, and the pipeline's target.partitionBy is {_words(wanted)}. The setting "
        "counts only when Anabranch creates the table.",
        state=NOTHING_CHANGED,
        hint=f"{f'write `partitionBy: {_list(present)}`' if present else 'remove `partitionBy`'} under `target` "
        "in the pipeline; or name another table there",
        table=spec.target.table,
    )


def _same(wanted: PartitionField, present: PartitionField) -> bool:
    column = wanted.column or present.column or ""
    return (wanted.transform, column.lower(), wanted.width) == (
        present.transform,
        (present.column or "").lower(),
        present.width,
    )


def _list(fields: PartitionFields) -> str:
    """In quotes: without them YAML would cut an entry at its comma."""
    return json.dumps([str(field) for field in fields])


def _words(fields: PartitionFields) -> str:
    return ", ".join(map(str, fields))
