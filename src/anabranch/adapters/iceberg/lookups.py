"""Lookup tables in the catalog: their heads, their former states, and whether a snapshot is still kept. No JVM."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from anabranch.contract.backfill import LookupAsOf
from anabranch.plan.lookup_tables import LookupPin, LookupUnreadableError
from anabranch.plan.target_range import EPOCH
from anabranch.project.quantities import format_moment


@dataclass(frozen=True)
class IcebergLookups:
    catalog: Catalog

    def pin(self, name: str, table: str, asked: LookupAsOf | None) -> LookupPin:
        found = self._load(table)
        if found is None:
            raise LookupUnreadableError(
                f"There is no table {table}, which the pipeline looks {name} up in.",
                hint=f"make the table, or name another one under lookups.{name} in the pipeline",
                table=table,
            )
        snapshot = _snapshot(found, asked)
        if snapshot is None:
            raise LookupUnreadableError(
                f"The lookup table {table} {_missing(asked)}.",
                hint=f"write a moment or snapshot that it has under spec.lookups.{name} in the contract"
                if asked is not None
                else "write rows to it first",
                table=table,
            )
        return LookupPin(table, snapshot)

    def is_retained(self, pin: LookupPin) -> bool:
        table = self._load(pin.table)
        return table is not None and table.snapshot_by_id(pin.snapshot) is not None

    def _load(self, table: str) -> Table | None:
        try:
            return self.catalog.load_table(table)
        except NoSuchTableError:
            return None


def _snapshot(table: Table, asked: LookupAsOf | None) -> int | None:
    if asked is None:
        found = table.current_snapshot()
    elif asked.snapshot is not None:
        found = table.snapshot_by_id(asked.snapshot)
    else:
        since = ((asked.as_of or EPOCH) - EPOCH) // timedelta(milliseconds=1)
        found = table.snapshot_as_of_timestamp(since)
    return None if found is None else found.snapshot_id


def _missing(asked: LookupAsOf | None) -> str:
    if asked is None:
        return "has no snapshot yet"
    if asked.as_of is not None:
        return f"has no snapshot any more of {format_moment(asked.as_of)} or before"
    return f"has no snapshot {asked.snapshot}"
