"""An Iceberg table that is replaced as a whole by staging's files in one commit, and rolled back in one. No JVM."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, point, remove_refs, require
from anabranch.adapters.iceberg.files import files_in
from anabranch.adapters.iceberg.later_rows import RewrittenError, Scratch
from anabranch.adapters.iceberg.refs import (
    after_tag,
    before_tag,
    head_of,
    is_pause_tag,
    pause_tag,
    scratch_branch,
    snapshot_of,
)
from anabranch.adapters.iceberg.states import tags_after
from anabranch.adapters.iceberg.table import HistoryGoneError
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.errors import AnabranchError, ExitCode
from anabranch.promote.capabilities import Capabilities, RowRestore
from anabranch.promote.history import Author, Commit
from anabranch.promote.ports import CommitNote, TargetHistory
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head


class OvertakenError(AnabranchError):
    code = "rollback.overtaken"
    exit_code = ExitCode.CONFLICT


class RollbackHistoryGoneError(AnabranchError):
    code = "rollback.history-gone"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class CommitsAfter:
    """Live's commits to main after a promotion, and main's head."""

    head: int
    """A snapshot id."""
    live: tuple[Commit, ...]


class TableSwapTarget(IcebergTarget):
    """Merging rewrites files, so one file may have rows of any batch, and commits can't be attributed by files."""

    capabilities: ClassVar[Capabilities] = replace(
        IcebergTarget.capabilities,
        later_rows=RowRestore.REPLAYED,
        pauses_live=True,
        classes=frozenset({"upsert", "ordered"}),
    )

    def promote(self, history: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> Head:
        """Replaces all of main's files by staging's, and removes the tags of snapshots whose rows it corrects."""
        if keep:
            raise AssertionError("no file of live's is kept where the whole table is replaced")
        table = self.load()
        root = None if staging.state is None else table.snapshot_by_id(snapshot_of(staging.state))
        sequence = 0 if root is None else root.sequence_number or 0
        base, run = snapshot_of(history.head), staging.run
        with self.commit(table) as tx:
            point(tx, before_tag(run), base, SnapshotRefType.TAG)
            properties = {props.ROOT: str(sequence)}
            new = self._swap(tx, table, base, snapshot_of(staging.head), staging, note, properties)
            point(tx, after_tag(run), new, SnapshotRefType.TAG)
            remove_refs(tx, tags_after(table, sequence))
        return head_of(new)

    def request_live_pause(self, run: str, until: int) -> None:
        """By a tag, which live reads before each merge: a merge moves the head that the promotion is based on."""

        def change(table: Table, tx: Transaction) -> None:
            head = table.metadata.refs[MAIN].snapshot_id
            remove_refs(tx, _pauses(table, run))
            point(tx, pause_tag(run, until), head, SnapshotRefType.TAG)

        self.change_refs(change)

    def release_live_pause(self, run: str) -> None:
        """Removes the tag."""
        if _pauses(self.load(), run):
            self.change_refs(lambda table, tx: remove_refs(tx, _pauses(table, run)))

    def later(self, staging: Staging) -> CommitsAfter:
        """Main's head and live's commits since the promotion.

        Raises OvertakenError if another writer has changed the table, and RollbackHistoryGoneError if the commits since
        the promotion have expired: live's events that must be merged onto the former rows are then unknown.
        """
        table = self.load()
        after = table.metadata.refs[after_tag(staging.run)].snapshot_id
        try:
            history = self.history_since(head_of(after), staging.partitions)
        except HistoryGoneError as gone:
            head = table.metadata.refs[MAIN].snapshot_id
            raise RollbackHistoryGoneError(
                f"Snapshots of {self.name} between the promotion ({after}) and its head ({head}) have expired: the "
                "commits of live that rollback must merge onto the former rows are unknown.",
                state=f"Production unchanged. The former rows are in tag {before_tag(staging.run)}.",
                hint=f"compare the table with tag {before_tag(staging.run)} and correct it by hand; retain main's "
                "snapshots for rollback.horizon",
                promotion=after,
                head=head,
            ) from gone
        strange = [c for c in history.commits if c.author not in (Author.LIVE, Author.REWRITE) and c.touches]
        if strange:
            raise OvertakenError(
                f"Snapshot {strange[0].snapshot} of {self.name} was committed after the promotion by another writer; "
                "rollback would discard it.",
                state="Production unchanged by this command.",
                hint="if it is a later promotion, roll that back first; otherwise compare the table with tag "
                f"{before_tag(staging.run)} and correct it by hand",
                snapshot=strange[0].snapshot,
            )
        return CommitsAfter(snapshot_of(history.head), tuple(c for c in history.commits if c.author is Author.LIVE))

    def _rollback_by_files(self, staging: Staging, note: CommitNote) -> Head:
        """The table as it was before the promotion, if live has committed nothing since."""
        later = self.later(staging)
        if later.live:
            raise RewrittenError(
                f"Live has committed to {self.name} since the promotion, onto the promoted rows.",
                state="Production unchanged by this command.",
                hint="rollback then merges its events onto the former rows, which needs Spark",
            )
        return self._go_back(staging, self.load().metadata.refs[before_tag(staging.run)].snapshot_id, later.head, note)

    def _make_scratch(self, staging: Staging) -> Scratch:
        """A branch at main's snapshot before the promotion, onto which live's later events are merged."""
        later = self.later(staging)
        table = self.load()
        former = table.metadata.refs[before_tag(staging.run)].snapshot_id
        branch = scratch_branch(staging.run, staging.epoch)
        with self.commit(table) as tx:
            point(tx, branch, former, SnapshotRefType.BRANCH)
            require(tx, {MAIN: later.head, staging.name: snapshot_of(staging.head)})
        return Scratch(branch, later.head, former, later.live)

    def restore_range(self, staging: Staging, scratch: Scratch, note: CommitNote) -> Head:
        """Replace main by the scratch branch in one commit."""
        return self._go_back(staging, self.load().metadata.refs[scratch.branch].snapshot_id, scratch.head, note)

    def _go_back(self, staging: Staging, to: int, head: int, note: CommitNote) -> Head:
        table = self.load()
        before = table.snapshot_by_id(table.metadata.refs[before_tag(staging.run)].snapshot_id)
        with self.commit(table) as tx:
            new = self._swap(tx, table, head, to, staging, note, {})
            # Tagged snapshots with promoted rows: a replay from one of them would restore those rows.
            remove_refs(tx, tags_after(table, 0 if before is None else before.sequence_number or 0))
        return head_of(new)

    def _swap(
        self,
        tx: Transaction,
        table: Table,
        head: int,
        to: int,
        staging: Staging,
        note: CommitNote,
        properties: dict[str, str],
    ) -> int:
        """Make main equal to snapshot `to`. Files that both have are not touched."""
        present, wanted = (files_in(table, snapshot, staging.partitions) for snapshot in (head, to))
        out = set(present) - set(wanted)
        put_in = {path: file for path, file in wanted.items() if path not in present}
        return self._replace_range(tx, table, head, out, put_in, staging, note, properties)


def _pauses(table: Table, run: str) -> list[str]:
    return [name for name in table.metadata.refs if is_pause_tag(name, run)]
