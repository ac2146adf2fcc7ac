"""One snapshot that removes some data files and adds others, without rewriting any."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestEntryStatus
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _OverwriteFiles

from anabranch.adapters.iceberg.manifests import live_entries, manifests_of, may_hold, spans_of

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestFile


class Replacement(_OverwriteFiles):
    """Finds the manifests to change by the partitions of the files to remove, and reads none of them twice.

    In PyIceberg's overwrite, threads share an evaluator with mutable bounds: sometimes a manifest is skipped by the
    bounds of another one, and the commit is refused because a file to remove was not found. It also keeps manifests
    without live entries.
    """

    def __init__(self, tx: Transaction, ref: str, properties: dict[str, str]) -> None:
        super().__init__(Operation.OVERWRITE, tx, tx._table.io, snapshot_properties=properties, branch=ref)

    def _build_delete_files_partition_predicate(self) -> None:
        """Overrides how PyIceberg finds the manifests to change."""

    def _deleted_entries(self) -> list[ManifestEntry]:
        gone = [
            _entry(ManifestEntryStatus.DELETED, self._snapshot_id, entry)
            for entries in self._to_change.values()
            for entry in entries
            if entry.data_file in self._deleted_data_files
        ]
        self._validate_required_deletes(gone)
        return gone

    def _existing_manifests(self) -> list[ManifestFile]:
        kept = []
        for manifest in self._parent_manifests:
            entries = self._to_change.get(manifest.manifest_path)
            if entries is None:
                kept.append(manifest)
            elif stay := [entry for entry in entries if entry.data_file not in self._deleted_data_files]:
                with self.new_manifest_writer(self.spec(manifest.partition_spec_id)) as writer:
                    for entry in stay:
                        writer.add_entry(_entry(ManifestEntryStatus.EXISTING, entry.snapshot_id, entry))
                kept.append(writer.to_manifest_file())
        return kept

    @cached_property
    def _parent_manifests(self) -> list[ManifestFile]:
        parent = self._transaction.table_metadata.snapshot_by_name(self._target_branch)
        return [] if parent is None else manifests_of(parent, self._io)

    @cached_property
    def _to_change(self) -> dict[str, list[ManifestEntry]]:
        """The entries of each manifest, by its path, that has a file to remove."""
        remove: dict[int, list[DataFile]] = defaultdict(list)
        for file in self._deleted_data_files:
            remove[file.spec_id].append(file)
        spans = {spec: spans_of(files) for spec, files in remove.items()}
        candidates = [
            each
            for each in self._parent_manifests
            if each.content is ManifestContent.DATA
            and each.partition_spec_id in spans
            and may_hold(each, spans[each.partition_spec_id])
        ]
        return {
            manifest.manifest_path: entries
            for manifest, entries in live_entries(candidates, self._io)
            if any(entry.data_file in self._deleted_data_files for entry in entries)
        }


def _entry(status: ManifestEntryStatus, snapshot: int | None, entry: ManifestEntry) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=status,
        snapshot_id=snapshot,
        sequence_number=entry.sequence_number,
        file_sequence_number=entry.file_sequence_number,
        data_file=entry.data_file,
    )
