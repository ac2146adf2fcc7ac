"""The zone map as an Iceberg table beside the target. No JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError, ValidationException
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, ListType, LongType, NestedField, StringType, StructType

from anabranch.adapters.iceberg.zone_files import FEWEST_SMALL, compact, expire, small_files
from anabranch.plan.offsets.completeness import MicrosRange
from anabranch.plan.offsets.intervals import Intervals, union
from anabranch.plan.offsets.zone_spans import ZoneSpan
from anabranch.plan.offsets.zones import PartitionZones, Zone, ZoneMap, combine

SCHEMA = Schema(
    NestedField(1, "topic", StringType(), required=True),
    NestedField(2, "reading", StringType(), required=True),
    NestedField(3, "partition", IntegerType(), required=True),
    NestedField(4, "start", LongType(), required=True),
    NestedField(5, "end", LongType(), required=True),
    NestedField(6, "count", LongType(), required=True),
    NestedField(7, "bytes", LongType(), required=True),
    NestedField(8, "nulls", LongType(), required=True),
    NestedField(9, "min_event", LongType()),
    NestedField(10, "max_event", LongType()),
    NestedField(11, "min_timestamp", LongType()),
    NestedField(12, "max_timestamp", LongType()),
    NestedField(
        13,
        "spans",
        ListType(
            14,
            StructType(
                NestedField(15, "low", LongType(), required=True),
                NestedField(16, "high", LongType(), required=True),
                NestedField(17, "count", LongType(), required=True),
                # Maps of earlier versions have none: their events may be anywhere in the zone.
                NestedField(18, "start", LongType()),
                NestedField(19, "end", LongType()),
            ),
            element_required=True,
        ),
        required=True,
    ),
)
ARROW = SCHEMA.as_arrow()
_SPAN = tuple(field.name for field in fields(ZoneSpan))
PROPERTIES = {
    "format-version": "2",
    # Rows are ordered by time, so a lookup of one hour reads few row groups.
    "write.parquet.row-group-limit": "65536",
    # Live and `zones build` append concurrently, and an append is safe to retry.
    "commit.retry.num-retries": "20",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
}


@dataclass(frozen=True)
class MapKey:
    """Identifies zones by topic and by how event time is read, so that those of a recreated topic are not mixed in."""

    topic: str
    """UUID."""
    reading: str
    """Digest of how event time is read."""


def zone_table(target: str) -> str:
    return f"{target}__zones"


class IcebergZones:
    """The zone map of one target. Every method reloads the table."""

    def __init__(self, catalog: Catalog, target: str) -> None:
        self._catalog = catalog
        self.table = zone_table(target)

    def add(self, key: MapKey, zones: Iterable[Zone]) -> None:
        """Append these zones and compact the table if needed. Idempotent: duplicates are combined on reading."""
        rows = _rows(key, zones)
        if rows.num_rows:
            _with_offsets(self._load_or_create()).append(rows)
            self._compact_if_needed()

    def look(self, key: MapKey, moments: MicrosRange) -> ZoneMap:
        """The map for one range of event time; empty if there is no table or no zone of this key."""
        table = self._load()
        if table is None or table.current_snapshot() is None:
            return ZoneMap({})
        bounds = table.scan(
            _of(key), selected_fields=("partition", "start", "end", "min_event", "max_event")
        ).to_arrow()
        if not bounds.num_rows:
            return ZoneMap({}, other=True)
        near = f"min_event < {moments.end} and max_event >= {moments.start}"
        inside: dict[int, list[Zone]] = {}
        for zone in _zones(table.scan(f"{_of(key)} and {near}").to_arrow()):
            inside.setdefault(zone.partition, []).append(zone)
        elsewhere = _offsets(bounds.filter(pc.invert(_may_hold(bounds, moments))))
        return ZoneMap(
            {p: PartitionZones(elsewhere.get(p, ()), tuple(inside.get(p, ()))) for p in {*elsewhere, *inside}}
        )

    def counted(self, key: MapKey) -> dict[int, Intervals]:
        """The offsets covered by zones of this key, by partition."""
        table = self._load()
        if table is None:
            return {}
        return _offsets(table.scan(_of(key), selected_fields=("partition", "start", "end")).to_arrow())

    def zones(self, key: MapKey) -> tuple[Zone, ...]:
        """All zones of this key, combined."""
        table = self._load()
        return () if table is None else combine(_zones(table.scan(_of(key)).to_arrow()))

    def _load(self) -> Table | None:
        try:
            return self._catalog.load_table(self.table)
        except NoSuchTableError:
            return None

    def _load_or_create(self) -> Table:
        self._catalog.create_namespace_if_not_exists(self.table.split(".")[0])
        try:
            return self._load() or self._catalog.create_table(self.table, SCHEMA, properties=PROPERTIES)
        except TableAlreadyExistsError:
            return self._catalog.load_table(self.table)  # live and `zones build` may both be the first

    def _compact_if_needed(self) -> None:
        table = self._catalog.load_table(self.table)
        small = small_files(table)
        if len(small) < FEWEST_SMALL:
            return
        try:
            compact(table, small, _combined)
            expire(self._catalog.load_table(self.table))
        except (CommitFailedException, ValidationException):
            return  # a concurrent append won; the next append compacts


def _with_offsets(table: Table) -> Table:
    """Add the offset columns of spans to a table of an earlier version."""
    if "spans.element.start" not in table.schema().column_names:
        try:
            with table.update_schema() as change:
                change.union_by_name(SCHEMA)
        except CommitFailedException:
            table.refresh()  # live and `zones build` may both add them
    return table


def _combined(rows: pa.Table) -> pa.Table:
    """The same zones in fewer rows, combined per key and ordered by event time."""
    keys = sorted({(row["topic"], row["reading"]) for row in rows.select(("topic", "reading")).to_pylist()})
    parts = []
    for topic, reading in keys:
        of_key = rows.filter(pc.and_(pc.equal(rows["topic"], topic), pc.equal(rows["reading"], reading)))
        parts.append(_rows(MapKey(topic, reading), combine(_zones(of_key))))
    return pa.concat_tables(parts)


def _of(key: MapKey) -> str:
    return f"topic == '{key.topic}' and reading == '{key.reading}'"


def _may_hold(bounds: pa.Table, moments: MicrosRange) -> pa.ChunkedArray:
    held = pc.and_(pc.less(bounds["min_event"], moments.end), pc.greater_equal(bounds["max_event"], moments.start))
    return pc.fill_null(held, False)  # no event time: in no range


def _offsets(rows: pa.Table) -> dict[int, Intervals]:
    found: dict[int, list[tuple[int, int]]] = {}
    columns = (rows[name].to_pylist() for name in ("partition", "start", "end"))
    for partition, start, end in zip(*columns, strict=True):
        found.setdefault(partition, []).append((start, end))
    return {partition: union(intervals) for partition, intervals in sorted(found.items())}


def _rows(key: MapKey, zones: Iterable[Zone]) -> pa.Table:
    ordered = sorted(zones, key=lambda zone: (_first(zone), zone.partition, zone.start))
    columns: Mapping[str, list[object]] = {
        "topic": [key.topic] * len(ordered),
        "reading": [key.reading] * len(ordered),
        **{name: [getattr(zone, name) for zone in ordered] for name in ("partition", "start", "end", "count")},
        **{name: [getattr(zone, name) for zone in ordered] for name in ("bytes", "nulls")},
        "min_event": [min((span.low for span in zone.spans), default=None) for zone in ordered],
        "max_event": [max((span.high for span in zone.spans), default=None) for zone in ordered],
        "min_timestamp": [zone.oldest for zone in ordered],
        "max_timestamp": [zone.newest for zone in ordered],
        "spans": [[{name: getattr(span, name) for name in _SPAN} for span in zone.spans] for zone in ordered],
    }
    return pa.table(columns, schema=ARROW)


def _first(zone: Zone) -> int:
    return zone.spans[0].low if zone.spans else 0


def _zones(rows: pa.Table) -> Iterator[Zone]:
    for row in rows.to_pylist():
        yield Zone(
            row["partition"],
            row["start"],
            row["end"],
            row["count"],
            row["bytes"],
            row["nulls"],
            tuple(_span(row, span) for span in row["spans"]),
            row["min_timestamp"],
            row["max_timestamp"],
        )


def _span(row: Mapping[str, int], fields_: Mapping[str, int | None]) -> ZoneSpan:
    known = {name: value for name, value in fields_.items() if value is not None}
    return ZoneSpan(**{"start": row["start"], "end": row["end"], **known})
