"""Lookup tables in the catalog: their snapshots, and whether a pinned one still exists. No JVM."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg.commits import find_snapshot
from anabranch.adapters.iceberg.refs import head_of
from anabranch.contract.backfill import LookupAsOf
from anabranch.plan.lookup_tables import LookupPin, LookupUnreadableError, Pins
from anabranch.plan.target_range import EPOCH
from anabranch.project.quantities import format_moment


@dataclass(frozen=True)
class IcebergLookups:
    catalog: Catalog

    def pin(self, name: str, table: str, wanted: LookupAsOf | None) -> LookupPin:
        loaded = self._load(table)
        if loaded is None:
            raise LookupUnreadableError(
                f"Lookup table {table} (lookups.{name} in the pipeline) does not exist.",
                hint=f"Create the table, or name another one under lookups.{name} in the pipeline",
                table=table,
            )
        snapshot = _snapshot(loaded, wanted)
        if snapshot is None:
            raise LookupUnreadableError(
                f"Lookup table {table} {_missing(wanted)}.",
                hint=f"Set spec.lookups.{name} in the contract to a time or snapshot that the table has"
                if wanted is not None
                else "Write rows to the table first",
                table=table,
            )
        return LookupPin(table, head_of(snapshot.snapshot_id))

    def is_retained(self, pin: LookupPin) -> bool:
        table = self._load(pin.table)
        return table is not None and find_snapshot(table, pin.snapshot) is not None

    def gone(self, pins: Pins) -> frozenset[str]:
        """The names of the lookups whose pinned snapshot has expired."""
        return frozenset(name for name, pin in pins.items() if not self.is_retained(pin))

    def _load(self, table: str) -> Table | None:
        try:
            return self.catalog.load_table(table)
        except NoSuchTableError:
            return None


def _snapshot(table: Table, wanted: LookupAsOf | None) -> Snapshot | None:
    if wanted is None:
        return table.current_snapshot()
    if wanted.snapshot is not None:
        return find_snapshot(table, wanted.snapshot)
    return table.snapshot_as_of_timestamp(((wanted.as_of or EPOCH) - EPOCH) // timedelta(milliseconds=1))


def _missing(wanted: LookupAsOf | None) -> str:
    if wanted is None:
        return "has no snapshot yet"
    if wanted.as_of is not None:
        return f"has no snapshot of {format_moment(wanted.as_of)} or before; it may have expired"
    return f"has no snapshot {wanted.snapshot}"
