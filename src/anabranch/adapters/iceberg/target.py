"""An Iceberg table as the target of a backfill: staged on a branch, joined in and taken out in one commit, no JVM."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commit_once import CommitOnce
from anabranch.adapters.iceberg.commits import (
    MAIN,
    back,
    operation_of,
    point,
    remove_refs,
    replace_files,
    require,
    said_by,
)
from anabranch.adapters.iceberg.files import changed_in, files_in
from anabranch.adapters.iceberg.later_rows import LaterRows, RewrittenError, Scratch
from anabranch.adapters.iceberg.silence import did_not_answer, is_silence
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.target_range import TargetPart
from anabranch.promote.history import Author, Commit
from anabranch.promote.ports import CommitNote, ConcurrentCommitError, TargetHistory
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import StagedSlice, Staging, StagingCommit, epoch_of, scratch_branch, staging_branch

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile

ATTEMPTS = 100


class TargetMissingError(AnabranchError):
    code = "target.missing"
    exit_code = ExitCode.USAGE


class HistoryGoneError(AnabranchError):
    code = "target.history-gone"
    exit_code = ExitCode.REFUSED


class IcebergTarget:
    """One table. Every method reads the table anew: what was true a moment ago is not trusted."""

    def __init__(self, catalog: Catalog, name: str, later_rows: Callable[[], LaterRows] | None = None) -> None:
        """`later_rows` makes what writes rows again, for a rollback that files alone can't do: it may start Spark."""
        self._catalog = catalog
        self._later_rows = later_rows
        self._commits: dict[tuple[int, TargetPart], Commit] = {}
        self.name = name

    def load(self) -> Table:
        try:
            table = self._catalog.load_table(self.name)
        except NoSuchTableError as error:
            raise TargetMissingError(
                f"There is no table {self.name}.",
                state=NOTHING_CHANGED,
                hint="check the pipeline's target; `anabranch live start` makes the table on its first batch",
                table=self.name,
            ) from error
        except Exception as error:
            if not is_silence(error):
                raise
            raise did_not_answer(self._catalog.name, error) from None
        # PyIceberg would retry a stale commit on the newer head by itself, with no look at the range.
        table.metadata.properties["commit.retry.num-retries"] = "0"
        return table

    def head(self, ref: str = MAIN) -> int | None:
        found = self.load().metadata.refs.get(ref)
        return found.snapshot_id if found else None

    def branches(self, run: str, *, control: bool = False) -> list[str]:
        """The staging branches of the run, or those of its control, of whatever epoch."""
        return _branches(self.load(), run, control=control)

    def stage(
        self, branch: str, staging_base: int, replaced_range: TargetPart | None, properties: Mapping[str, str]
    ) -> None:
        """Create the branch from `staging_base` without the replaced range, in one commit. Idempotent."""

        def change(table: Table, tx: Transaction) -> None:
            if branch not in table.metadata.refs:
                point(tx, branch, staging_base, SnapshotRefType.BRANCH)
                if replaced_range is not None:
                    new = replace_files(
                        tx, branch, files_in(table, staging_base, replaced_range).values(), [], properties
                    )
                    point(tx, branch, new, SnapshotRefType.BRANCH)  # moving a branch forgets how long to keep it
                require(tx, {branch: None})

        self.change_refs(change)

    def hand_over(self, old: str, new: str) -> None:
        """Give staging to the next epoch: the old branch is gone, so whoever still holds it can commit nothing."""

        def change(table: Table, tx: Transaction) -> None:
            if new not in table.metadata.refs and old in table.metadata.refs:
                head = table.metadata.refs[old].snapshot_id
                point(tx, new, head, SnapshotRefType.BRANCH)
                remove_refs(tx, [old])
                require(tx, {old: head, new: None})

        self.change_refs(change)

    def staged(self, branch: str, base: int) -> list[StagedSlice]:
        """The slices that the branch holds, oldest first: the authority on progress."""
        slices = []
        for snapshot in self._line(self.load(), branch, base):
            said = said_by(snapshot)
            if props.SLICE in said:
                slices.append(
                    StagedSlice(
                        said[props.SLICE],
                        int(said[props.EPOCH]),
                        snapshot.snapshot_id,
                        props.read_offsets(said),
                        SliceLedger.read(json.loads(said[props.LEDGER])),
                    )
                )
        return slices

    def staging_line(self, branch: str, base: int) -> list[StagingCommit]:
        """Every commit of the branch, oldest first, whoever made it."""
        line = self._line(self.load(), branch, base)
        return [StagingCommit(each.snapshot_id, said_by(each).get(props.SLICE)) for each in line]

    def history_since(self, base: int, partitions: TargetPart) -> TargetHistory:
        """The head of main and every commit on it since `base`, oldest first, with what each did to the range."""
        table = self.load()
        line = self._line(table, MAIN, base)
        head = line[-1].snapshot_id if line else base
        present = frozenset(files_in(table, head, partitions))
        for snapshot in line:
            # A commit never changes, so that looking again reads only the new ones.
            if (snapshot.snapshot_id, partitions) not in self._commits:
                self._commits[snapshot.snapshot_id, partitions] = _commit_of(table, snapshot, partitions)
        commits = tuple(self._commits[snapshot.snapshot_id, partitions] for snapshot in line)
        return TargetHistory(head, commits, present)

    def find_commit(self, commit_id: str) -> int | None:
        """The snapshot on main that carries this commit id, if the commit ever took effect."""
        found = (s.snapshot_id for s in back(self.load(), MAIN) if said_by(s).get(props.COMMIT) == commit_id)
        return next(found, None)

    def authors(self, run: str) -> set[Author]:
        """As whom the run has committed to main, as far back as history is kept."""
        line = back(self.load(), MAIN)
        return {props.author(said_by(s), operation_of(s)) for s in line if said_by(s).get(props.RUN) == run}

    def promote(self, history: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> int:
        """The range as staging has it, plus the files in `keep`, in one commit against the head of the history.

        The heads before and after are tagged in that same commit, so that no expiry can take the way back.
        """
        table = self.load()
        staged = files_in(table, staging.snapshot, staging.partitions)
        with self.commit(table) as tx:
            point(tx, staging.before, history.head, SnapshotRefType.TAG)
            new = self._replace_range(tx, table, history.head, history.present - set(keep), staged, staging, note)
            point(tx, staging.after, new, SnapshotRefType.TAG)
        return new

    def rollback(self, staging: Staging, note: CommitNote) -> int:
        """By files where they are still the table's; else by rows, with those that came after written again."""
        try:
            return self._rollback_by_files(staging, note)
        except RewrittenError:
            # Gone they also are when a later epoch has rolled back already: then there is nothing to do by rows.
            self._require_fence(self.load(), staging)
            if self._later_rows is None:
                raise
            return self._rollback_by_rows(staging, note, self._later_rows())

    def _rollback_by_files(self, staging: Staging, note: CommitNote) -> int:
        """The promoted files out and the former ones back, in one commit; whatever came after the promotion stays."""
        table = self.load()
        refs = table.metadata.refs
        former, joined = (
            files_in(table, refs[tag].snapshot_id, staging.partitions) for tag in (staging.before, staging.after)
        )
        promoted = set(joined) - set(former)
        head = refs[MAIN].snapshot_id
        if not promoted <= set(files_in(table, head, staging.partitions)):
            raise RewrittenError(
                f"Data files of {self.name} that the promotion added were rewritten since, rows of live among them.",
                state=NOTHING_CHANGED,
                hint="the rollback goes by rows instead of files, which needs Spark",
            )
        back = {path: file for path, file in former.items() if path not in joined}
        with self.commit(table) as tx:
            return self._replace_range(tx, table, head, promoted, back, staging, note)

    def _rollback_by_rows(self, staging: Staging, note: CommitNote, rows: LaterRows) -> int:
        scratch = self._make_scratch(staging)
        rows.write(staging, scratch)
        return self.restore_range(staging, scratch, note)

    def _make_scratch(self, staging: Staging) -> Scratch:
        """A branch as main is now with the range taken out, for rows that have to be written again."""
        made: list[int] = []

        def change(table: Table, tx: Transaction) -> None:
            head = table.metadata.refs[MAIN].snapshot_id
            point(tx, staging.scratch, head, SnapshotRefType.BRANCH)
            replace_files(tx, staging.scratch, files_in(table, head, staging.partitions).values(), [], {})
            require(tx, {MAIN: head, staging.branch: staging.snapshot})
            made[:] = [head]

        self.change_refs(change)
        return Scratch(staging.scratch, made[0], made[0])

    def restore_range(self, staging: Staging, scratch: Scratch, note: CommitNote) -> int:
        """The range as it was before the promotion, plus what the scratch branch has, in one commit on main."""
        table = self.load()
        refs = table.metadata.refs
        former = files_in(table, refs[staging.before].snapshot_id, staging.partitions)
        later = files_in(table, refs[scratch.branch].snapshot_id, staging.partitions)
        present = files_in(table, scratch.head, staging.partitions)
        both = set(present) & set(former)
        back = {path: file for path, file in {**former, **later}.items() if path not in both}
        with self.commit(table) as tx:
            return self._replace_range(tx, table, scratch.head, set(present) - both, back, staging, note)

    def request_live_pause(self, run: str, until: int) -> None:
        """No change: live appends files of its own, and a promotion keeps them without waiting."""

    def release_live_pause(self, run: str) -> None:
        """No change: there is never a request."""

    def _require_fence(self, table: Table, staging: Staging) -> None:
        """Raises ConcurrentCommitError if the epoch's branch is not where it was seen."""
        fence = table.metadata.refs.get(staging.branch)
        if fence is None or fence.snapshot_id != staging.snapshot:
            raise self._moved()

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
        """On main, against exactly `head`: these files of the range out, those in, no data rewritten.

        The staging branch of our epoch is the fence: after a takeover it is gone, and the catalog refuses the commit
        whatever we believe.
        """
        if table.metadata.refs[MAIN].snapshot_id != head:
            raise self._moved()
        present = files_in(table, head, staging.partitions)
        new = replace_files(
            tx, MAIN, [present[path] for path in remove], add.values(), {**props.of_note(note), **(more or {})}
        )
        require(tx, {MAIN: head, staging.branch: staging.snapshot})
        return new

    def remove_refs(self, run: str) -> None:
        """Remove every branch and tag of the run, in one commit; again is no change."""

        def change(table: Table, tx: Transaction) -> None:
            remove_refs(tx, [ref for ref in table.metadata.refs if ref.startswith(f"ab_{run}_")])

        self.change_refs(change)

    def remove_stray(self, run: str, epoch: int, *, unused: bool) -> None:
        """Remove the branches of a superseded epoch, if a later one has its own or staging is `unused` altogether.

        Spark makes a branch anew when it is gone by the time of a commit. Until a later epoch has its own, though,
        the branch is staging itself.
        """

        def change(table: Table, tx: Transaction) -> None:
            def passed(*, control: bool) -> bool:
                return unused or any(epoch_of(b) > epoch for b in _branches(table, run, control=control))

            mine = {staging_branch(run, epoch), scratch_branch(run, epoch)} if passed(control=False) else set()
            mine |= {staging_branch(run, epoch, control=True)} if passed(control=True) else set()
            stray = {name: ref.snapshot_id for name, ref in table.metadata.refs.items() if name in mine}
            if stray:
                remove_refs(tx, stray)
                require(tx, stray)

        self.change_refs(change)

    def change_refs(self, change: Callable[[Table, Transaction], None]) -> None:
        """A change to our own refs only: when somebody committed to the table in between, look and do it again."""
        for attempt in range(ATTEMPTS):
            table = self.load()
            try:
                with self.commit(table) as tx:
                    change(table, tx)
            except ConcurrentCommitError:
                if attempt == ATTEMPTS - 1:
                    raise
            except Exception as error:
                if not is_silence(error):
                    raise
                raise did_not_answer(self._catalog.name, error) from None
            else:
                return

    def commit(self, table: Table) -> CommitOnce:
        return CommitOnce(table, self._moved)

    def _moved(self) -> ConcurrentCommitError:
        return ConcurrentCommitError(
            f"{self.name} was changed by somebody else just now.",
            state="Our change was not made; theirs stands.",
            hint="run the same command again: it looks at the new state first",
            table=self.name,
        )

    def _line(self, table: Table, ref: str, base: int) -> list[Snapshot]:
        """The snapshots after `base` up to the ref's head, oldest first."""
        kept = list(back(table, ref))
        after = list(takewhile(lambda snapshot: snapshot.snapshot_id != base, kept))
        if len(after) == len(kept):
            raise HistoryGoneError(
                f"The history of {self.name} between the base snapshot {base} and {ref} is gone.",
                state=NOTHING_CHANGED,
                hint="plan again from the present state, and keep snapshots at least as long as a backfill runs",
                table=self.name,
                base=base,
            )
        return after[::-1]


def _branches(table: Table, run: str, *, control: bool = False) -> list[str]:
    prefix = staging_branch(run, 0, control=control).removesuffix("0")
    return sorted(ref for ref in table.metadata.refs if ref.startswith(prefix))


def _commit_of(table: Table, snapshot: Snapshot, partitions: TargetPart) -> Commit:
    said = said_by(snapshot)
    changed = changed_in(table, snapshot, partitions)
    return Commit(
        snapshot.snapshot_id,
        props.author(said, operation_of(snapshot)),
        said.get(props.RUN),
        said.get(props.CODE),
        props.read_offsets(said),
        changed.added,
        changed.removed,
    )
