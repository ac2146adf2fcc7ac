"""One commit to a table through its catalog: tried once, on exactly the metadata that was read. No JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertRefSnapshotId, RemoveSnapshotRefUpdate, SetSnapshotRefUpdate

from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.adapters.iceberg.replacement import Replacement
from anabranch.runs.heads import Head

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile

MAIN = "main"
_FOR_EVER = 2**63 - 1
_LONGEST_RUN = 90 * 24 * 3600 * 1000
# In ms. With any settings of the table, expiry must keep the snapshots that a rollback needs, and a branch's commits,
# which are the authority on what was replayed.
ONLY_THE_HEAD = {"max-ref-age-ms": _FOR_EVER, "max-snapshot-age-ms": 1, "min-snapshots-to-keep": 1}
"""A branch whose history may expire."""
_KEPT: dict[SnapshotRefType, dict[str, int]] = {
    SnapshotRefType.TAG: {"max-ref-age-ms": _FOR_EVER},
    SnapshotRefType.BRANCH: {"max-ref-age-ms": _FOR_EVER, "max-snapshot-age-ms": _LONGEST_RUN},
}


def replace_files(
    tx: Transaction, ref: str, remove: Iterable[DataFile], add: Iterable[DataFile], properties: Mapping[str, str]
) -> int:
    change = Replacement(tx, ref, dict(properties))
    for file in remove:
        change.delete_data_file(file)
    for file in add:
        change.append_data_file(file)
    change.commit()
    return change.snapshot_id


def back(table: Table, ref: str) -> Iterator[Snapshot]:
    """The ancestors of the ref's head, newest first, as far back as they are retained."""
    return ancestry(table, table.snapshot_by_name(ref))


def ancestry(table: Table, head: Snapshot | None) -> Iterator[Snapshot]:
    """The ancestors of `head`, newest first, as far back as they are retained."""
    kept = {snapshot.snapshot_id: snapshot for snapshot in table.snapshots()}  # a table looks through all of them
    while head is not None:
        yield head
        parent = head.parent_snapshot_id
        head = None if parent is None else kept.get(parent)


def find_snapshot(table: Table, head: Head) -> Snapshot | None:
    """The snapshot of this name; None: it has expired, or the name is none of Iceberg's."""
    return table.snapshot_by_id(snapshot_of(head)) if head.isdecimal() else None


def point(
    tx: Transaction, ref: str, snapshot: int, kind: SnapshotRefType, kept: Mapping[str, int] | None = None
) -> None:
    """`kept` is the ref's retention; by default all that a run needs."""
    ref_update = {
        "ref-name": ref,
        "type": kind.value,
        "snapshot-id": snapshot,
        **(_KEPT[kind] if kept is None else kept),
    }
    tx._stage((SetSnapshotRefUpdate.model_validate(ref_update),))


def for_so_long(keep: timedelta) -> dict[str, int]:
    """A tag that expiry removes after this time."""
    return {"max-ref-age-ms": keep // timedelta(milliseconds=1)}


def as_it_is(table: Table, ref: str) -> dict[str, int]:
    """The retention of an existing ref: moving the ref must not change it."""
    now = table.metadata.refs[ref]
    ages = {
        "max-ref-age-ms": now.max_ref_age_ms,
        "max-snapshot-age-ms": now.max_snapshot_age_ms,
        "min-snapshots-to-keep": now.min_snapshots_to_keep,
    }
    return {name: value for name, value in ages.items() if value is not None}


def remove_refs(tx: Transaction, refs: Iterable[str]) -> None:
    tx._stage(tuple(RemoveSnapshotRefUpdate.model_validate({"ref-name": ref}) for ref in refs))


def require(tx: Transaction, refs: Mapping[str, int | None]) -> None:
    """Make the catalog check, in the commit, that each ref is at the snapshot that was read (None: it does not exist).

    Bypasses `_stage`, which stores one requirement per type and would silently drop all refs but the first.
    """
    tx._requirements = tuple(
        AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": snapshot}) for ref, snapshot in refs.items()
    )


def said_by(snapshot: Snapshot) -> dict[str, str]:
    return dict(snapshot.summary.additional_properties) if snapshot.summary else {}


def operation_of(snapshot: Snapshot) -> str:
    return snapshot.summary.operation.value if snapshot.summary else ""
