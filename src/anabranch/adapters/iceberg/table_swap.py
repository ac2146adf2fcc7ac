"""An Iceberg table that is replaced as a whole: staging's files for main's in one commit, and back. No JVM."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, point, remove_refs, require
from anabranch.adapters.iceberg.files import files_in
from anabranch.adapters.iceberg.later_rows import RewrittenError, Scratch
from anabranch.adapters.iceberg.states import tags_after
from anabranch.adapters.iceberg.target import HistoryGoneError, IcebergTarget
from anabranch.errors import AnabranchError, ExitCode
from anabranch.promote.history import Author, Commit
from anabranch.promote.ports import CommitNote, TargetHistory
from anabranch.replay.staging import Staging


class OvertakenError(AnabranchError):
    code = "rollback.overtaken"
    exit_code = ExitCode.CONFLICT


class RollbackHistoryGoneError(AnabranchError):
    code = "rollback.history-gone"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class Later:
    """What has happened on main since a promotion."""

    head: int
    live: tuple[Commit, ...]


class TableSwapTarget(IcebergTarget):
    """Rows of one file may be of any batch, since merging rewrites files: nothing is kept or taken out by file."""

    def promote(self, history: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> int:
        """All of main's files out and staging's in. States that hold what is corrected here are no longer kept."""
        if keep:
            raise AssertionError("no file of live's is kept where the whole table is replaced")
        table = self.load()
        root = None if staging.state is None else table.snapshot_by_id(staging.state)
        sequence = 0 if root is None else root.sequence_number or 0
        with self.commit(table) as tx:
            point(tx, staging.before, history.head, SnapshotRefType.TAG)
            said = {props.ROOT: str(sequence)}
            new = self._swap(tx, table, history.head, staging.snapshot, staging, note, said)
            point(tx, staging.after, new, SnapshotRefType.TAG)
            remove_refs(tx, tags_after(table, sequence))
        return new

    def request_live_pause(self, run: str, until: int) -> None:
        """By a tag, which live looks for before each merge: a merge moves the head that a promotion was made for."""

        def change(table: Table, tx: Transaction) -> None:
            head = table.metadata.refs[MAIN].snapshot_id
            remove_refs(tx, _turns(table, run))
            point(tx, f"ab_{run}_turn_{until}", head, SnapshotRefType.TAG)

        self.change_refs(change)

    def release_live_pause(self, run: str) -> None:
        """Removes the tag."""
        if _turns(self.load(), run):
            self.change_refs(lambda table, tx: remove_refs(tx, _turns(table, run)))

    def later(self, staging: Staging) -> Later:
        """Main's head and live's commits since the promotion.

        Raises OvertakenError if somebody else has changed the table, and RollbackHistoryGoneError if the commits since
        the promotion have expired: live's events would have to be merged onto the former rows, and which ones those
        commits hold is not known.
        """
        table = self.load()
        after = table.metadata.refs[staging.after].snapshot_id
        try:
            history = self.history_since(after, staging.partitions)
        except HistoryGoneError as gone:
            head = table.metadata.refs[MAIN].snapshot_id
            raise RollbackHistoryGoneError(
                f"Snapshots of {self.name} between the promotion ({after}) and its head ({head}) have expired: which "
                "commits of live have to be merged onto the former rows is not known.",
                state=f"Production unchanged. The former rows are in the tag {staging.before}.",
                hint=f"compare the table with the tag {staging.before} and decide by hand what is to stay; keep "
                "main's snapshots for as long as rollback.horizon",
                promotion=after,
                head=head,
            ) from gone
        strange = [c for c in history.commits if c.author not in (Author.LIVE, Author.REWRITE) and c.touches]
        if strange:
            raise OvertakenError(
                f"Snapshot {strange[0].snapshot} has changed {self.name} since the promotion, and is not live's: "
                "going back would take it out too.",
                state="Production is as it was before this command.",
                hint=f"roll back what came later first; or compare with the tag {staging.before} and decide by "
                "hand what is to stay",
                snapshot=strange[0].snapshot,
            )
        return Later(history.head, tuple(c for c in history.commits if c.author is Author.LIVE))

    def _rollback_by_files(self, staging: Staging, note: CommitNote) -> int:
        """The table as it was before the promotion, if live has committed nothing since."""
        later = self.later(staging)
        if later.live:
            raise RewrittenError(
                f"Live has committed to {self.name} since the promotion, onto the promoted rows.",
                state="Production is as it was before this command.",
                hint="its events are merged onto the former rows, which needs Spark",
            )
        return self._go_back(staging, self.load().metadata.refs[staging.before].snapshot_id, later.head, note)

    def _make_scratch(self, staging: Staging) -> Scratch:
        """A branch as main was before the promotion, for live's later events to be merged onto."""
        later = self.later(staging)
        table = self.load()
        former = table.metadata.refs[staging.before].snapshot_id
        with self.commit(table) as tx:
            point(tx, staging.scratch, former, SnapshotRefType.BRANCH)
            require(tx, {MAIN: later.head, staging.branch: staging.snapshot})
        return Scratch(staging.scratch, later.head, former, later.live)

    def restore_range(self, staging: Staging, scratch: Scratch, note: CommitNote) -> int:
        """The table as the scratch branch has it, in one commit on main."""
        return self._go_back(staging, self.load().metadata.refs[scratch.branch].snapshot_id, scratch.head, note)

    def _go_back(self, staging: Staging, to: int, head: int, note: CommitNote) -> int:
        table = self.load()
        before = table.snapshot_by_id(table.metadata.refs[staging.before].snapshot_id)
        with self.commit(table) as tx:
            new = self._swap(tx, table, head, to, staging, note, {})
            # States of the promoted rows are none that anybody should start from.
            remove_refs(tx, tags_after(table, 0 if before is None else before.sequence_number or 0))
        return new

    def _swap(
        self,
        tx: Transaction,
        table: Table,
        head: int,
        to: int,
        staging: Staging,
        note: CommitNote,
        said: dict[str, str],
    ) -> int:
        """Main as snapshot `to` is. Files that both have stay where they are."""
        present, wanted = (files_in(table, snapshot, staging.partitions) for snapshot in (head, to))
        out = set(present) - set(wanted)
        put_in = {path: file for path, file in wanted.items() if path not in present}
        return self._replace_range(tx, table, head, out, put_in, staging, note, said)


def _turns(table: Table, run: str) -> list[str]:
    return [name for name in table.metadata.refs if name.startswith(f"ab_{run}_turn_")]
