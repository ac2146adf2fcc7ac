"""An Iceberg table of hourly partitions, of which a range is replaced by files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType
from tests.conformance.target.iceberg import IcebergKind, Rows

from anabranch.adapters.iceberg.files import time_axis
from anabranch.adapters.iceberg.later_rows import Scratch
from anabranch.adapters.iceberg.refs import after_tag
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import PartitionRange, widen
from anabranch.replay.staging import Staging

DAY = datetime(2025, 6, 1, tzinfo=timezone.utc)
INSIDE, OUTSIDE = (2, 3), (0, 5)


class IcebergRangeKind(IcebergKind):
    """Rows are (id, hour, by); hours 2 and 3 are replaced."""

    schema = Schema(
        NestedField(1, "id", LongType()), NestedField(2, "at", TimestamptzType()), NestedField(3, "by", StringType())
    )
    spec = PartitionSpec(PartitionField(2, 1000, HourTransform(), "at_hour"))
    strategy = Strategy.REPLACE_RANGE
    target_class = IcebergTarget
    keeps_live = True

    def fill(self) -> None:
        for hour in (*OUTSIDE, *INSIDE):
            self.append([(hour * 10 + n, hour, "former") for n in range(3)])

    def range(self) -> PartitionRange:
        return widen(time_axis(self.table()), DAY + timedelta(hours=2, minutes=10), DAY + timedelta(hours=3, minutes=9))

    def arrow(self, rows: Iterable[tuple[object, ...]]) -> pa.Table:
        made = [{"id": n, "at": DAY + timedelta(hours=int(str(hour)), minutes=5), "by": by} for n, hour, by in rows]
        return pa.Table.from_pylist(made, schema=self.schema.as_arrow())

    def row(self, number: int, *, inside: bool, by: str) -> tuple[object, ...]:
        return (number, (INSIDE if inside else OUTSIDE)[number % 2], by)

    def rows_at(self, ref: str) -> Rows:
        found = self.table().scan().use_ref(ref).to_arrow().to_pylist()
        return Counter((row["id"], (row["at"] - DAY) // timedelta(hours=1), row["by"]) for row in found)

    def stage(self, staging: Staging) -> None:
        for hour in INSIDE:
            self.append([(hour * 100, hour, "staged"), (hour * 100 + 1, hour, "staged")], staging.name)

    @property
    def former(self) -> Rows:
        return Counter((hour * 10 + n, hour, "former") for hour in (*OUTSIDE, *INSIDE) for n in range(3))

    @property
    def corrected(self) -> Rows:
        staged: Rows = Counter((hour * 100 + n, hour, "staged") for hour in INSIDE for n in range(2))
        return staged + Counter((hour * 10 + n, hour, "former") for hour in OUTSIDE for n in range(3))

    def write(self, staging: Staging, scratch: Scratch) -> None:
        later = self.rows_at("main") - self.rows_at(after_tag(staging.run))
        rows = [row for row in later.elements() if row[1] in INSIDE]
        if rows:
            self.append(rows, scratch.branch)
