"""Checks that an existing table is partitioned as its pipeline requires."""

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
    """The table's current partition fields. A dropped field remains as void and is left out."""
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
    """Raise OtherPartitioningError unless the table has the pipeline's partitioning; any is accepted if it names
    none."""
    if spec.target.partition_by is None:
        return
    wanted, present = fields_of(spec.target.partition_by), partitioning_of(table)
    if len(wanted) == len(present) and all(map(_same, wanted, present)):
        return
    is_now = f"partitioned by {_text(present)}" if present else "not partitioned"
    raise OtherPartitioningError(
        f"Partitioning mismatch: table {spec.target.table} is {is_now}, target.partitionBy in the pipeline is "
        f"{_text(wanted)}. The setting applies only when Anabranch creates the table.",
        state=NOTHING_CHANGED,
        hint=f"{f'Write `partitionBy: {_list(present)}`' if present else 'Remove `partitionBy`'} under `target` "
        "in the pipeline, or name another table there",
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
    """Quoted, because YAML would split an entry at its comma."""
    return json.dumps([str(field) for field in fields])


def _text(fields: PartitionFields) -> str:
    return ", ".join(map(str, fields))
