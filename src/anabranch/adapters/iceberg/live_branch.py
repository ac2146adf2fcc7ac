"""The branch that live merges on: main follows it in one commit, if main is still what was merged onto. No JVM."""

from __future__ import annotations

from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, ONLY_THE_HEAD, as_it_is, point, require, said_by
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.promote.target import MovedError


class LiveBranch:
    """Of one pipeline. A merge reads before it writes: what it has read must be what it is joined to."""

    def __init__(self, target: IcebergTarget, pipeline: str) -> None:
        self._target = target
        self.name = f"ab_live_{pipeline}"

    def begin(self) -> int | None:
        """Put the branch where main is, and return that snapshot; None: the table has none yet."""
        for _ in range(2):
            table = self._target.load()
            refs = table.metadata.refs
            head = refs[MAIN].snapshot_id if MAIN in refs else None
            mine = refs[self.name].snapshot_id if self.name in refs else None
            if head is None or mine == head:
                return head
            try:
                with self._target.commit(table) as tx:
                    point(tx, self.name, head, SnapshotRefType.BRANCH, ONLY_THE_HEAD)
                    require(tx, {MAIN: head, self.name: mine})
            except MovedError as error:
                moved = error
            else:
                return head
        raise moved

    def has(self, commit: str) -> bool:
        """Whether the branch's last commit is this one."""
        last = self._target.load().snapshot_by_name(self.name)
        return last is not None and said_by(last).get(props.COMMIT) == commit

    def join(self, onto: int) -> None:
        """Let main follow the branch. Raises MovedError, with main as it was, if main is no longer `onto`."""
        table = self._target.load()
        head = table.metadata.refs[self.name].snapshot_id
        with self._target.commit(table) as tx:
            point(tx, MAIN, head, SnapshotRefType.BRANCH, as_it_is(table, MAIN))
            require(tx, {MAIN: onto, self.name: head})
