"""Rehearses a promotion and its rollback on a scratch branch of the table. Main is not changed; no JVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg.commits import MAIN, ONLY_THE_HEAD, point, remove_refs, replace_files, require
from anabranch.adapters.iceberg.files import files_in
from anabranch.adapters.iceberg.refs import rehearsal_branch, snapshot_of
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.plan.target_range import TargetPart
from anabranch.runs.heads import Head

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile

TOTALS = ("total-records", "total-data-files", "total-delete-files")
_PROPERTIES = {"anabranch.author": "rehearsal"}


def rehearse_rollback(
    target: IcebergTarget, name: str, part: TargetPart, staged: Head | None, clock: Callable[[], float]
) -> RehearsedRollback:
    """Replace the part's files by those of snapshot `staged`, or by none, roll that back, and compare with main.

    Uses the code of promotion and rollback, so that a problem of theirs fails the rehearsal. The branch is always
    removed; if the process is killed, closing run `name` removes it.
    """
    branch = rehearsal_branch(name)
    begun = clock()
    try:
        head, swapped = _promote(target, branch, part, None if staged is None else snapshot_of(staged))
        promoted = clock()
        _go_back(target, branch, part, head)
        returned = clock()
        same = _as_before(target.load(), branch, part, head)
    finally:
        target.change_refs(lambda table, tx: remove_refs(tx, [each for each in (branch,) if each in table.refs()]))
    return RehearsedRollback(
        files_out=swapped[0],
        files_in=swapped[1],
        promote_seconds=round(promoted - begun, 3),
        rollback_seconds=round(returned - promoted, 3),
        same=same,
        staged=staged is not None,
    )


def _promote(target: IcebergTarget, branch: str, part: TargetPart, staged: int | None) -> tuple[int, tuple[int, int]]:
    """The head of main that the branch was created from, and the numbers of removed and added files."""
    made: list[tuple[int, tuple[int, int]]] = []

    def change(table: Table, tx: Transaction) -> None:
        refs = table.metadata.refs
        head, there = refs[MAIN].snapshot_id, refs.get(branch)
        former = files_in(table, head, part)
        wanted = {} if staged is None else files_in(table, staged, part)
        point(tx, branch, head, SnapshotRefType.BRANCH, ONLY_THE_HEAD)
        _swap(tx, branch, former, wanted)
        require(tx, {branch: None if there is None else there.snapshot_id})
        made[:] = [(head, (len(former.keys() - wanted.keys()), len(wanted.keys() - former.keys())))]

    target.change_refs(change)
    return made[0]


def _go_back(target: IcebergTarget, branch: str, part: TargetPart, head: int) -> None:
    def change(table: Table, tx: Transaction) -> None:
        now = table.metadata.refs[branch].snapshot_id
        _swap(tx, branch, files_in(table, now, part), files_in(table, head, part))
        require(tx, {branch: now})

    target.change_refs(change)


def _swap(tx: Transaction, branch: str, present: Mapping[str, DataFile], wanted: Mapping[str, DataFile]) -> None:
    out = [file for path, file in present.items() if path not in wanted]
    put_in = [file for path, file in wanted.items() if path not in present]
    replace_files(tx, branch, out, put_in, _PROPERTIES)


def _as_before(table: Table, branch: str, part: TargetPart, head: int) -> bool:
    """Whether the part has the same files, and the whole table the same numbers of files and rows."""
    now = table.metadata.refs[branch].snapshot_id
    files = [{path: file.record_count for path, file in files_in(table, each, part).items()} for each in (head, now)]
    return files[0] == files[1] and _totals(table, head) == _totals(table, now)


def _totals(table: Table, snapshot: int) -> list[int]:
    found = table.snapshot_by_id(snapshot)
    properties = {} if found is None or found.summary is None else found.summary.additional_properties
    return [int(properties.get(name, 0)) for name in TOTALS]
