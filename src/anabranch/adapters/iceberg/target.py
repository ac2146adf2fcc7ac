"""An Iceberg table as the target of a backfill: staged on a branch, joined in and taken out in one commit, no JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.table import Table, Transaction
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertRefSnapshotId, RemoveSnapshotRefUpdate, SetSnapshotRefUpdate

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.files import files_in
from anabranch.errors import NOTHING_TOUCHED, AnabranchError, ExitCode
from anabranch.plan.axis import PartitionRange
from anabranch.promote.history import Commit

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile

MAIN = "main"


class TargetMissingError(AnabranchError):
    code = "target.missing"
    exit_code = ExitCode.USAGE


class HistoryGoneError(AnabranchError):
    code = "target.history-gone"
    exit_code = ExitCode.REFUSED


class MovedError(AnabranchError):
    """Somebody committed between our look and our commit. The caller looks again."""

    code = "target.moved"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class StagedSlice:
    """One slice as the staging branch remembers it."""

    slice_id: str
    epoch: int
    snapshot: int
    offsets: Mapping[int, tuple[int, int]]


class IcebergTarget:
    """One table. Every method reads the table anew: what was true a moment ago is not trusted."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        self._catalog = catalog
        self.name = name

    def load(self) -> Table:
        try:
            table = self._catalog.load_table(self.name)
        except NoSuchTableError as error:
            raise TargetMissingError(
                f"There is no table {self.name}.",
                untouched=NOTHING_TOUCHED,
                next_step="check the pipeline's target; `anabranch live start` makes the table on its first batch",
                table=self.name,
            ) from error
        # PyIceberg would retry a stale commit on the newer head by itself, with no look at the range.
        table.metadata.properties["commit.retry.num-retries"] = "0"
        return table

    def head(self, ref: str = MAIN) -> int | None:
        found = self.load().metadata.refs.get(ref)
        return found.snapshot_id if found else None

    def stage(self, branch: str, base: int, partitions: PartitionRange, properties: Mapping[str, str]) -> None:
        """The branch as `base` with the range taken out, in one commit. Once made, again is no change."""
        table = self.load()
        if branch in table.metadata.refs:
            return
        with self._commit(table) as tx:
            _point(tx, branch, base, SnapshotRefType.BRANCH)
            _replace(tx, branch, files_in(table, base, partitions).values(), [], properties)
            _require(tx, {branch: None})

    def hand_over(self, old: str, new: str) -> None:
        """Give staging to the next epoch: the old branch is gone, so whoever still holds it can commit nothing."""
        table = self.load()
        if new in table.metadata.refs:
            return
        head = table.metadata.refs[old].snapshot_id
        with self._commit(table) as tx:
            _point(tx, new, head, SnapshotRefType.BRANCH)
            tx._stage((RemoveSnapshotRefUpdate.model_validate({"ref-name": old}),))
            _require(tx, {old: head, new: None})

    def staged(self, branch: str, base: int) -> list[StagedSlice]:
        """The slices that the branch holds, oldest first: the authority on progress."""
        slices = []
        for snapshot in self._line(self.load(), branch, base):
            said = _said(snapshot)
            if props.SLICE in said:
                slices.append(
                    StagedSlice(
                        said[props.SLICE], int(said[props.EPOCH]), snapshot.snapshot_id, props.read_offsets(said)
                    )
                )
        return slices

    def history(self, base: int, partitions: PartitionRange) -> tuple[int, list[Commit]]:
        """The head of main and every commit on it since `base`, oldest first, with what each did to the range."""
        table = self.load()
        line = self._line(table, MAIN, base)
        commits = []
        before = set(files_in(table, base, partitions))
        for snapshot in line:
            after = set(files_in(table, snapshot.snapshot_id, partitions))
            said = _said(snapshot)
            commits.append(
                Commit(
                    snapshot.snapshot_id,
                    props.author(said, _operation(snapshot)),
                    said.get(props.RUN),
                    said.get(props.CODE),
                    props.read_offsets(said),
                    frozenset(after - before),
                    frozenset(before - after),
                )
            )
            before = after
        return (line[-1].snapshot_id if line else base), commits

    def promoted(self, commit_id: str) -> int | None:
        """The snapshot on main that carries this commit id, if it ever landed."""
        table = self.load()
        snapshot = table.current_snapshot()
        while snapshot is not None:
            if _said(snapshot).get(props.COMMIT) == commit_id:
                return snapshot.snapshot_id
            snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
        return None

    def replace_range(
        self,
        *,
        head: int,
        remove: Iterable[str],
        add: Mapping[str, DataFile],
        partitions: PartitionRange,
        fence: tuple[str, int],
        tags: Mapping[str, int],
        properties: Mapping[str, str],
    ) -> int:
        """One commit on main, against exactly `head`: these files of the range out, those in, no data rewritten.

        `fence` is the staging branch of our epoch and where it must stand: after a takeover it is gone, and the
        commit is refused by the catalog whatever we believe. `tags` keep snapshots from being expired; a tag that
        is there already stays. Returns the new snapshot.
        """
        table = self.load()
        if table.metadata.refs[MAIN].snapshot_id != head:
            raise self._moved()
        present = files_in(table, head, partitions)
        branch, stands_at = fence
        with self._commit(table) as tx:
            for tag, snapshot in tags.items():
                if tag not in table.metadata.refs:
                    _point(tx, tag, snapshot, SnapshotRefType.TAG)
            snapshot_id = _replace(tx, MAIN, [present[path] for path in remove], add.values(), properties)
            _require(tx, {MAIN: head, branch: stands_at})
        return snapshot_id

    def _commit(self, table: Table) -> _CommitOnce:
        return _CommitOnce(table, self._moved)

    def _moved(self) -> MovedError:
        return MovedError(
            f"{self.name} was changed by somebody else just now.",
            untouched="Our change was not made; theirs stands.",
            next_step="run the same command again: it looks at the new state first",
            table=self.name,
        )

    def _line(self, table: Table, ref: str, base: int) -> list[Snapshot]:
        """The snapshots after `base` up to the ref's head, oldest first."""
        line = []
        snapshot = table.snapshot_by_name(ref)
        while snapshot is not None and snapshot.snapshot_id != base:
            line.append(snapshot)
            snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
        if snapshot is None:
            raise HistoryGoneError(
                f"The history of {self.name} between the base snapshot {base} and {ref} is gone.",
                untouched=NOTHING_TOUCHED,
                next_step="plan again from the present state, and keep snapshots at least as long as a backfill runs",
                table=self.name,
                base=base,
            )
        return line[::-1]


class _CommitOnce:
    """A transaction that is tried once and never on another state than the one it was made from."""

    def __init__(self, table: Table, moved: Callable[[], MovedError]) -> None:
        self._transaction = table.transaction()
        self._moved = moved

    def __enter__(self) -> Transaction:
        return self._transaction

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            return
        try:
            self._transaction.commit_transaction()
        except (CommitFailedException, ValidationException) as refused:
            raise self._moved() from refused


def _replace(
    tx: Transaction, ref: str, remove: Iterable[DataFile], add: Iterable[DataFile], properties: Mapping[str, str]
) -> int:
    change = tx.update_snapshot(snapshot_properties=dict(properties), branch=ref).overwrite()
    for file in remove:
        change.delete_data_file(file)
    for file in add:
        change.append_data_file(file)
    change.commit()
    return change.snapshot_id


def _point(tx: Transaction, ref: str, snapshot: int, kind: SnapshotRefType) -> None:
    told = {"ref-name": ref, "type": kind.value, "snapshot-id": snapshot}
    tx._stage((SetSnapshotRefUpdate.model_validate(told),))


def _require(tx: Transaction, refs: Mapping[str, int | None]) -> None:
    """Make the catalog check, in the commit itself, that each ref stands where we saw it (None: is not there).

    Set past `_stage`, which keeps one requirement of each type and would drop all refs but the first in silence.
    """
    tx._requirements = tuple(
        AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": snapshot}) for ref, snapshot in refs.items()
    )


def _said(snapshot: Snapshot) -> dict[str, str]:
    return dict(snapshot.summary.additional_properties) if snapshot.summary else {}


def _operation(snapshot: Snapshot) -> str:
    return snapshot.summary.operation.value if snapshot.summary else ""
