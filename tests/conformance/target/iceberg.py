"""What both kinds of Iceberg target share: a catalog on SQLite, PyIceberg as the writer of everybody else, no Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Summary

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.adapters.iceberg.later_rows import Scratch
from anabranch.adapters.iceberg.live_branch import pause_until
from anabranch.adapters.iceberg.refs import head_of
from anabranch.adapters.iceberg.replacement import Replacement
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import Slice
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import TargetPart
from anabranch.promote.history import Commit
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import Staging

CATALOG = "targets"
TABLE = "shop.orders"
Rows = Counter[tuple[object, ...]]


class _Compaction(Replacement):
    """Says `replace`, as Iceberg's own compaction does; PyIceberg has none."""

    def _summary(self, snapshot_properties: dict[str, str] = {}) -> Summary:  # noqa: B006
        found = super()._summary(snapshot_properties)
        return Summary(operation=Operation.REPLACE, **found.additional_properties)


class IcebergKind:
    schema: Schema
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC
    strategy: Strategy
    target_class: type[IcebergTarget]
    own_code = "fixed-code"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.embedded = EmbeddedCatalog.below(folder)
        self.embedded.create()
        self.opened: list[Catalog] = []
        self.numbers = count(10_000)
        self.lived: list[int] = []
        catalog = self.catalog()
        catalog.create_namespace("shop")
        catalog.create_table(TABLE, self.schema, partition_spec=self.spec)
        self.fill()
        self.base = self.table().metadata.refs["main"].snapshot_id
        self.part = self.range()

    def fill(self) -> None:
        """Write the former rows."""
        raise NotImplementedError

    def range(self) -> TargetPart:
        raise NotImplementedError

    def arrow(self, rows: Iterable[tuple[object, ...]]) -> pa.Table:
        raise NotImplementedError

    def row(self, number: int, *, inside: bool, by: str) -> tuple[object, ...]:
        raise NotImplementedError

    def rows_at(self, ref: str) -> Rows:
        """What a plain reader finds in a branch or tag."""
        raise NotImplementedError

    @property
    def former(self) -> Rows:
        raise NotImplementedError

    @cached_property
    def plan(self) -> Plan:
        return Plan(
            pipeline="orders",
            contract="c" * 64,
            code=self.own_code,
            source=PlannedSource("orders", "uuid", 1, {0: ((0, 100),)}, {0: 100}),
            target=PlannedTarget(TABLE, head_of(self.base), "schema", self.part, None, None),
            slices=(Slice("s00000", {0: (0, 100)}),),
            strategy=self.strategy,
        )

    def catalog(self) -> Catalog:
        self.opened.append(self.embedded.catalog(CATALOG).open())
        return self.opened[-1]

    def table(self) -> Table:
        return self.catalog().load_table(TABLE)

    def target(self) -> IcebergTarget:
        return self.target_class(self.catalog(), TABLE, lambda: self)

    def losing_its_answer(self, *, commits: bool) -> tuple[IcebergTarget, Callable[[], None]]:
        catalog = self.catalog()
        honest = catalog.commit_table

        def cut(*args: Any) -> Any:
            catalog.commit_table = honest  # type: ignore[method-assign]
            if commits:
                honest(*args)
            raise ConnectionError("the answer was lost")

        def arm() -> None:
            catalog.commit_table = cut  # type: ignore[method-assign,assignment]

        return self.target_class(catalog, TABLE, lambda: self), arm

    def append(self, rows: Iterable[tuple[object, ...]], branch: str = "main", **properties: str) -> None:
        self.table().append(self.arrow(rows), snapshot_properties=properties, branch=branch)

    def stage_slice(self, staging: Staging, slice_: Slice, ledger: SliceLedger) -> None:
        properties = {props.SLICE: slice_.id, props.EPOCH: str(staging.epoch)}
        properties |= {props.LEDGER: json.dumps(ledger.document()), props.OFFSETS: props.write_offsets(slice_.offsets)}
        (first, end) = slice_.offsets[0]
        rows = [self.row(number, inside=True, by="live") for number in self.lived if first <= number < end]
        self.append(rows, staging.name, **properties)

    def stage_live(self, staging: Staging, commits: Iterable[Commit]) -> None:
        self.append(self._made_by(commits), staging.name)

    def live(self, *, inside: bool = True, code: str | None = None) -> Rows:
        number = next(self.numbers)
        row = self.row(number, inside=inside, by="live")
        self.lived.append(number)
        self.append(
            [row],
            **{
                props.AUTHOR: "live",
                props.CODE: code or self.own_code,
                props.OFFSETS: props.write_offsets({0: (number, number + 1)}),
            },
        )
        return Counter([row])

    def stranger(self) -> Rows:
        row = self.row(next(self.numbers), inside=True, by="stranger")
        self.append([row])
        return Counter([row])

    def compact(self) -> None:
        table = self.table()
        with table.transaction() as tx:
            change = _Compaction(tx, "main", {})
            for task in table.scan().plan_files():
                change.delete_data_file(task.file)
            for file in _dataframe_to_data_files(table.metadata, table.scan().to_arrow(), table.io):
                change.append_data_file(file)
            change.commit()

    def expire(self) -> None:
        tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
        self.table().maintenance.expire_snapshots().older_than(tomorrow).commit()

    def pause_requested(self) -> int:
        return pause_until(self.table())

    def rows(self) -> Rows:
        return self.rows_at("main")

    def data_files(self) -> frozenset[str]:
        return frozenset(str(path) for path in (self.folder / "warehouse").rglob("*.parquet"))

    def close(self) -> None:
        for each in self.opened:
            each.close()

    def write(self, staging: Staging, scratch: Scratch) -> None:
        """As Spark does where a rollback has to write live's later rows again."""
        raise NotImplementedError

    def _made_by(self, commits: Iterable[Commit]) -> list[tuple[object, ...]]:
        """Live's rows, from their offsets."""
        return [self.row(commit.offsets[0][0], inside=True, by="live") for commit in commits]
