"""An Iceberg table that is replaced as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from tests.conformance.target.iceberg import IcebergKind, Rows

from anabranch.adapters.iceberg.later_rows import Scratch
from anabranch.adapters.iceberg.table_swap import TableSwapTarget
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import WholeTable
from anabranch.replay.staging import Staging


class IcebergSwapKind(IcebergKind):
    """Rows are (id, by). All of the table is the range, so that there is nothing beside it."""

    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "by", StringType()))
    strategy = Strategy.MERGE_FORWARD
    target_class = TableSwapTarget
    keeps_live = False

    def fill(self) -> None:
        for first in (0, 10):
            self.append([(first + n, "former") for n in range(3)])

    def range(self) -> WholeTable:
        return WholeTable(None, None)

    def arrow(self, rows: Iterable[tuple[object, ...]]) -> pa.Table:
        return pa.Table.from_pylist([{"id": n, "by": by} for n, by in rows], schema=self.schema.as_arrow())

    def row(self, number: int, *, inside: bool, by: str) -> tuple[object, ...]:
        return (number, by)

    def rows_at(self, ref: str) -> Rows:
        return Counter((row["id"], row["by"]) for row in self.table().scan().use_ref(ref).to_arrow().to_pylist())

    def stage(self, staging: Staging) -> None:
        self.append([(100, "staged"), (101, "staged")], staging.name)

    @property
    def former(self) -> Rows:
        return Counter((first + n, "former") for first in (0, 10) for n in range(3))

    @property
    def corrected(self) -> Rows:
        return Counter([(100, "staged"), (101, "staged")])

    def write(self, staging: Staging, scratch: Scratch) -> None:
        self.append(self._made_by(scratch.live), scratch.branch)
