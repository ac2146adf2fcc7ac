"""Entries of a table's manifests, cached: a manifest never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from cachetools import LRUCache, cached
from cachetools.keys import hashkey
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.utils.concurrent import ExecutorFactory

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile, PartitionFieldSummary
    from pyiceberg.table.snapshots import Snapshot

ENTRIES_CACHED = 50_000
"""An entry takes 1 to 2 kB of memory."""

Spans: TypeAlias = Mapping[int, tuple[int, int]]
"""First and last value, both inclusive, by the position of the partition field."""


def manifests_of(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """The snapshot's manifests that have live entries."""
    return [each for each in snapshot.manifests(io) if each.has_added_files() or each.has_existing_files()]


@cached(LRUCache(ENTRIES_CACHED, getsizeof=len), key=lambda manifest, _: hashkey(manifest.manifest_path), lock=Lock())
def entries_of(manifest: ManifestFile, io: FileIO) -> tuple[ManifestEntry, ...]:
    """All entries, including those of removed files."""
    return tuple(manifest.fetch_manifest_entry(io, discard_deleted=False))


def live_entries(manifests: Iterable[ManifestFile], io: FileIO) -> list[tuple[ManifestFile, list[ManifestEntry]]]:
    """The live entries of each manifest. Manifests are read in parallel because object stores have high latency."""

    def read(manifest: ManifestFile) -> tuple[ManifestFile, list[ManifestEntry]]:
        return manifest, [e for e in entries_of(manifest, io) if e.status is not ManifestEntryStatus.DELETED]

    return list(ExecutorFactory.get_or_create().map(read, manifests))


def may_hold(manifest: ManifestFile, spans: Spans) -> bool:
    """Whether a file of the manifest may be within all of these spans, by the manifest's bounds."""
    bounds = manifest.partitions
    return not bounds or all(_overlaps(bounds[position], *span) for position, span in spans.items())


def _overlaps(bounds: PartitionFieldSummary, first: int, last: int) -> bool:
    if bounds.lower_bound is None or bounds.upper_bound is None:
        return False  # only nulls
    return _number(bounds.lower_bound) <= last and _number(bounds.upper_bound) >= first


def _number(stored: bytes) -> int:
    """Decode a bound: integers, dates and times have the same encoding."""
    return int.from_bytes(stored, "little", signed=True)


def within(spans: Spans, file: DataFile) -> bool:
    return all(
        file.partition[position] is not None and first <= file.partition[position] <= last
        for position, (first, last) in spans.items()
    )


def spans_of(files: Sequence[DataFile]) -> Spans:
    """The spans of the partition fields that are integers in all of these files, which have one partition spec."""
    columns = [[file.partition[position] for file in files] for position in range(len(files[0].partition))]
    return {
        position: (min(values), max(values))
        for position, values in enumerate(columns)
        if all(type(value) is int for value in values)
    }
