"""What a table's manifests hold. Each is read once: a manifest never changes."""

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

ENTRIES_KEPT = 50_000
"""A data file's entry takes a kilobyte or two of memory."""

Spans: TypeAlias = Mapping[int, tuple[int, int]]
"""From and to, both inclusive, by the position of a partition field."""


def manifests_of(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """Those in which something is left."""
    return [each for each in snapshot.manifests(io) if each.has_added_files() or each.has_existing_files()]


@cached(LRUCache(ENTRIES_KEPT, getsizeof=len), key=lambda manifest, _: hashkey(manifest.manifest_path), lock=Lock())
def entries_of(manifest: ManifestFile, io: FileIO) -> tuple[ManifestEntry, ...]:
    """All entries, those of removed files too."""
    return tuple(manifest.fetch_manifest_entry(io, discard_deleted=False))


def live_entries(manifests: Iterable[ManifestFile], io: FileIO) -> list[tuple[ManifestFile, list[ManifestEntry]]]:
    """Of each manifest, the files that are there. Several are read at a time: an object store is slow to answer."""

    def look(manifest: ManifestFile) -> tuple[ManifestFile, list[ManifestEntry]]:
        return manifest, [e for e in entries_of(manifest, io) if e.status is not ManifestEntryStatus.DELETED]

    return list(ExecutorFactory.get_or_create().map(look, manifests))


def may_hold(manifest: ManifestFile, spans: Spans) -> bool:
    """Whether a file of the manifest may have its partition within all of these spans, by the bounds it gives."""
    bounds = manifest.partitions
    return not bounds or all(_overlaps(bounds[position], *span) for position, span in spans.items())


def _overlaps(bounds: PartitionFieldSummary, first: int, last: int) -> bool:
    if bounds.lower_bound is None or bounds.upper_bound is None:
        return False  # nothing but nulls
    return _number(bounds.lower_bound) <= last and _number(bounds.upper_bound) >= first


def _number(stored: bytes) -> int:
    """Whole numbers, dates and times are all stored so."""
    return int.from_bytes(stored, "little", signed=True)


def within(spans: Spans, file: DataFile) -> bool:
    return all(
        file.partition[position] is not None and first <= file.partition[position] <= last
        for position, (first, last) in spans.items()
    )


def spans_of(files: Sequence[DataFile]) -> Spans:
    """The partition fields that are a whole number in each of these files, of one partitioning, and their spans."""
    columns = [[file.partition[position] for file in files] for position in range(len(files[0].partition))]
    return {
        position: (min(values), max(values))
        for position, values in enumerate(columns)
        if all(type(value) is int for value in values)
    }
