"""An Iceberg table as the target of a backfill: promoted to and rolled back in one commit each, no JVM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, back, operation_of, point, replace_files, require, said_by
from anabranch.adapters.iceberg.files import changed_in, files_in
from anabranch.adapters.iceberg.later_rows import LaterRows, RewrittenError, Scratch
from anabranch.adapters.iceberg.refs import after_tag, before_tag, head_of, scratch_branch, snapshot_of
from anabranch.adapters.iceberg.staging import IcebergStaging
from anabranch.errors import NOTHING_CHANGED
from anabranch.plan.target_range import TargetPart
from anabranch.promote.capabilities import (
    Capabilities,
    HeadCheck,
    Moves,
    ReaderView,
    RowRestore,
    StreamingReaders,
)
from anabranch.promote.history import Author, Commit
from anabranch.promote.ports import CommitNote, TargetHistory
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head, Piece

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile


class IcebergTarget(IcebergStaging):
    """Replaces a range of partitions by removing its files and adding staging's. Rewrites no file."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        atomic=True,
        head_check=HeadCheck.EXACT,
        readers_see=ReaderView.SNAPSHOT,
        moves=Moves.FILES,
        streaming_readers=StreamingReaders.STOP,
        former_rows_kept=True,
        later_rows=RowRestore.COMPARED,
        pauses_live=False,
        classes=frozenset({"stateless", "windowed"}),
    )

    def __init__(self, catalog: Catalog, name: str, later_rows: Callable[[], LaterRows] | None = None) -> None:
        """`later_rows` builds the rewriter of live's rows, for a rollback that can't move files. It may start Spark."""
        super().__init__(catalog, name)
        self._later_rows = later_rows
        self._commits: dict[tuple[int, TargetPart], Commit] = {}

    def history_since(self, base: Head, partitions: TargetPart) -> TargetHistory:
        """The head of main and every commit on it since `base`, oldest first, with its changes of the range."""
        table = self.load()
        line = self.line(table, MAIN, base)
        head = head_of(line[-1].snapshot_id) if line else base
        present = frozenset(map(Piece, files_in(table, snapshot_of(head), partitions)))
        for snapshot in line:
            # A commit never changes, so a later call reads only new ones.
            if (snapshot.snapshot_id, partitions) not in self._commits:
                self._commits[snapshot.snapshot_id, partitions] = _commit_of(table, snapshot, partitions)
        commits = tuple(self._commits[snapshot.snapshot_id, partitions] for snapshot in line)
        return TargetHistory(head, commits, present)

    def find_commit(self, commit_id: str) -> Head | None:
        """The snapshot on main with this commit id; None: the commit took no effect."""
        found = (head_of(s.snapshot_id) for s in back(self.load(), MAIN) if said_by(s).get(props.COMMIT) == commit_id)
        return next(found, None)

    def authors(self, run: str) -> set[Author]:
        """The kinds of commits that the run made on main, as far back as history is retained."""
        line = back(self.load(), MAIN)
        return {props.author(said_by(s), operation_of(s)) for s in line if said_by(s).get(props.RUN) == run}

    def promote(self, history: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> Head:
        """Replace the range by staging's files and those in `keep`, in one commit against the head of the history.

        The same commit tags the heads before and after, so that expiry keeps what a rollback needs.
        """
        table = self.load()
        base, run = snapshot_of(history.head), staging.run
        staged = files_in(table, snapshot_of(staging.head), staging.partitions)
        with self.commit(table) as tx:
            point(tx, before_tag(run), base, SnapshotRefType.TAG)
            new = self._replace_range(tx, table, base, history.present - set(keep), staged, staging, note)
            point(tx, after_tag(run), new, SnapshotRefType.TAG)
        return head_of(new)

    def rollback(self, staging: Staging, note: CommitNote) -> Head:
        """By files if the table still has them; otherwise by rows, and later rows are rewritten."""
        try:
            return self._rollback_by_files(staging, note)
        except RewrittenError:
            # A later epoch may have rolled back already and removed these files: nothing to restore then.
            self._require_fence(self.load(), staging)
            if self._later_rows is None:
                raise
            return self._rollback_by_rows(staging, note, self._later_rows())

    def _rollback_by_files(self, staging: Staging, note: CommitNote) -> Head:
        """Remove the promoted files and restore the former ones, in one commit. Later commits stay."""
        table = self.load()
        refs = table.metadata.refs
        former, joined = (
            files_in(table, refs[tag].snapshot_id, staging.partitions)
            for tag in (before_tag(staging.run), after_tag(staging.run))
        )
        promoted = set(joined) - set(former)
        head = refs[MAIN].snapshot_id
        if not promoted <= set(files_in(table, head, staging.partitions)):
            raise RewrittenError(
                f"Data files that the promotion added to {self.name} were rewritten since.",
                state=NOTHING_CHANGED,
                hint="rollback then compares rows instead of files, which needs Spark",
            )
        back = {path: file for path, file in former.items() if path not in joined}
        with self.commit(table) as tx:
            return head_of(self._replace_range(tx, table, head, promoted, back, staging, note))

    def _rollback_by_rows(self, staging: Staging, note: CommitNote, rows: LaterRows) -> Head:
        scratch = self._make_scratch(staging)
        rows.write(staging, scratch)
        return self.restore_range(staging, scratch, note)

    def _make_scratch(self, staging: Staging) -> Scratch:
        """A branch of main's head without the range, for rows that have to be rewritten."""
        made: list[int] = []
        branch = scratch_branch(staging.run, staging.epoch)

        def change(table: Table, tx: Transaction) -> None:
            head = table.metadata.refs[MAIN].snapshot_id
            point(tx, branch, head, SnapshotRefType.BRANCH)
            replace_files(tx, branch, files_in(table, head, staging.partitions).values(), [], {})
            require(tx, {MAIN: head, staging.name: snapshot_of(staging.head)})
            made[:] = [head]

        self.change_refs(change)
        return Scratch(branch, made[0], made[0])

    def restore_range(self, staging: Staging, scratch: Scratch, note: CommitNote) -> Head:
        """Restore the range's former files and add those of the scratch branch, in one commit on main."""
        table = self.load()
        refs = table.metadata.refs
        former = files_in(table, refs[before_tag(staging.run)].snapshot_id, staging.partitions)
        later = files_in(table, refs[scratch.branch].snapshot_id, staging.partitions)
        present = files_in(table, scratch.head, staging.partitions)
        both = set(present) & set(former)
        back = {path: file for path, file in {**former, **later}.items() if path not in both}
        with self.commit(table) as tx:
            return head_of(self._replace_range(tx, table, scratch.head, set(present) - both, back, staging, note))

    def request_live_pause(self, run: str, until: int) -> None:
        """No change: live appends files, and a promotion keeps them."""

    def release_live_pause(self, run: str) -> None:
        """No change: there is never a request."""

    def _require_fence(self, table: Table, staging: Staging) -> None:
        """Raises ConcurrentCommitError if the epoch's branch has moved or was removed."""
        fence = table.metadata.refs.get(staging.name)
        if fence is None or fence.snapshot_id != snapshot_of(staging.head):
            raise self.moved()

    def _replace_range(
        self,
        tx: Transaction,
        table: Table,
        head: int,
        remove: Collection[str],
        add: Mapping[str, DataFile],
        staging: Staging,
        note: CommitNote,
        more: Mapping[str, str] | None = None,
    ) -> int:
        """Remove and add these files of the range on main, against exactly `head`.

        The commit requires the staging branch of this epoch: a takeover removes it, and the catalog then refuses the
        commit.
        """
        if table.metadata.refs[MAIN].snapshot_id != head:
            raise self.moved()
        present = files_in(table, head, staging.partitions)
        new = replace_files(
            tx, MAIN, [present[path] for path in remove], add.values(), {**props.of_note(note), **(more or {})}
        )
        require(tx, {MAIN: head, staging.name: snapshot_of(staging.head)})
        return new


def _commit_of(table: Table, snapshot: Snapshot, partitions: TargetPart) -> Commit:
    properties = said_by(snapshot)
    changed = changed_in(table, snapshot, partitions)
    return Commit(
        head_of(snapshot.snapshot_id),
        props.author(properties, operation_of(snapshot)),
        properties.get(props.RUN),
        properties.get(props.CODE),
        props.read_offsets(properties),
        changed.added,
        changed.removed,
    )
