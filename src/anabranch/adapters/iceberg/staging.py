"""Staging of a run: a branch of the table for each epoch, which readers of the table don't see. No JVM."""

from __future__ import annotations

import json

from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import point, remove_refs, replace_files, require, said_by
from anabranch.adapters.iceberg.files import files_in
from anabranch.adapters.iceberg.refs import (
    head_of,
    is_of_run,
    scratch_branch,
    snapshot_of,
    staging_branch,
    staging_epoch,
)
from anabranch.adapters.iceberg.table import IcebergTable
from anabranch.plan.target_range import TargetPart
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import StagedSlice, StagingCommit, StagingPlace
from anabranch.runs.heads import Head


class IcebergStaging(IcebergTable):
    """A takeover creates the next epoch's branch from the last one's head and removes the latter."""

    def stagings(self, run: str, *, control: bool = False) -> list[StagingPlace]:
        return _stagings(self.load(), run, control=control)

    def make_staging(
        self, run: str, epoch: int, root: Head, replaced: TargetPart | None, *, control: bool = False
    ) -> None:
        """The branch as `root` with a part removed, or all of it, in one commit."""
        branch, start = staging_branch(run, epoch, control=control), snapshot_of(root)

        def change(table: Table, tx: Transaction) -> None:
            if branch not in table.metadata.refs:
                point(tx, branch, start, SnapshotRefType.BRANCH)
                if replaced is not None:
                    new = replace_files(tx, branch, files_in(table, start, replaced).values(), [], {})
                    point(tx, branch, new, SnapshotRefType.BRANCH)  # moving a branch resets its retention
                require(tx, {branch: None})

        self.change_refs(change)

    def hand_over(self, former: StagingPlace, run: str, epoch: int, *, control: bool = False) -> None:
        """Removes the former branch, so that the catalog refuses any further commit of its epoch."""
        old, new = former.name, staging_branch(run, epoch, control=control)

        def change(table: Table, tx: Transaction) -> None:
            if new not in table.metadata.refs and old in table.metadata.refs:
                head = table.metadata.refs[old].snapshot_id
                point(tx, new, head, SnapshotRefType.BRANCH)
                remove_refs(tx, [old])
                require(tx, {old: head, new: None})

        self.change_refs(change)

    def staged_slices(self, name: str, root: Head) -> list[StagedSlice]:
        slices = []
        for snapshot in self.line(self.load(), name, root):
            properties = said_by(snapshot)
            if props.SLICE in properties:
                slices.append(
                    StagedSlice(
                        properties[props.SLICE],
                        int(properties[props.EPOCH]),
                        head_of(snapshot.snapshot_id),
                        props.read_offsets(properties),
                        SliceLedger.read(json.loads(properties[props.LEDGER])),
                    )
                )
        return slices

    def staging_commits(self, name: str, root: Head) -> list[StagingCommit]:
        """Every commit to staging by any writer, oldest first."""
        line = self.line(self.load(), name, root)
        return [StagingCommit(head_of(each.snapshot_id), said_by(each).get(props.SLICE)) for each in line]

    def remove_refs(self, run: str) -> None:
        """Remove every branch and tag of the run in one commit. Idempotent."""

        def change(table: Table, tx: Transaction) -> None:
            remove_refs(tx, [ref for ref in table.metadata.refs if is_of_run(ref, run)])

        self.change_refs(change)

    def refs_of(self, run: str) -> list[str]:
        """The branches and tags that name the run."""
        return [ref for ref in self.load().metadata.refs if is_of_run(ref, run)]

    def remove_stray(self, run: str, epoch: int, *, unused: bool) -> None:
        """Remove the branches of a superseded epoch, if a later one has its own or staging is `unused` altogether.

        Spark recreates a branch that was removed before its commit. Until a later epoch has its own branch, this one is
        the run's staging and stays.
        """

        def change(table: Table, tx: Transaction) -> None:
            def passed(*, control: bool) -> bool:
                return unused or any(each.epoch > epoch for each in _stagings(table, run, control=control))

            mine = {staging_branch(run, epoch), scratch_branch(run, epoch)} if passed(control=False) else set()
            mine |= {staging_branch(run, epoch, control=True)} if passed(control=True) else set()
            stray = {name: ref.snapshot_id for name, ref in table.metadata.refs.items() if name in mine}
            if stray:
                remove_refs(tx, stray)
                require(tx, stray)

        self.change_refs(change)


def _stagings(table: Table, run: str, *, control: bool = False) -> list[StagingPlace]:
    epochs = {ref: staging_epoch(ref, run, control=control) for ref in table.metadata.refs}
    return [
        StagingPlace(ref, epoch, head_of(table.metadata.refs[ref].snapshot_id))
        for ref, epoch in sorted(epochs.items(), key=lambda each: each[1] or 0)
        if epoch is not None
    ]
