"""The branch on which live merges: main follows it in one commit if main has not moved since. No JVM."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, ONLY_THE_HEAD, as_it_is, point, require, said_by
from anabranch.adapters.iceberg.refs import paused_until
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.promote.ports import ConcurrentCommitError

LONGEST_PAUSE = 60
"""Seconds. Live waits no longer, even if the promoter has died or its clock is ahead."""
POLL_SECONDS = 0.2


def pause_until(table: Table) -> int:
    """End of the latest pause that a promotion has requested; 0: there is no request."""
    return max((until for name in table.metadata.refs if (until := paused_until(name)) is not None), default=0)


class LiveBranch:
    """The branch of one pipeline. A merge is valid only on the snapshot that it has read."""

    def __init__(
        self,
        target: IcebergTarget,
        pipeline: str,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._target = target
        self._clock = clock
        self._sleep = sleep
        self.name = f"ab_live_{pipeline}"

    def begin(self) -> int | None:
        """Set the branch to main's head, and return that snapshot; None: the table has none yet.

        If a promotion has requested a pause, waits until it ends: each commit of live makes the promotion catch up
        again, so that it might never finish.
        """
        latest = self._clock() + LONGEST_PAUSE
        while self._clock() < min(latest, pause_until(self._target.load())):
            self._sleep(POLL_SECONDS)
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
            except ConcurrentCommitError as error:
                moved = error
            else:
                return head
        raise moved

    def has(self, commit: str) -> bool:
        """Whether the branch's last commit is this one."""
        last = self._target.load().snapshot_by_name(self.name)
        return last is not None and said_by(last).get(props.COMMIT) == commit

    def join(self, onto: int) -> None:
        """Let main follow the branch. Raises ConcurrentCommitError, with main unchanged, if main is not `onto`."""
        table = self._target.load()
        head = table.metadata.refs[self.name].snapshot_id
        with self._target.commit(table) as tx:
            point(tx, MAIN, head, SnapshotRefType.BRANCH, as_it_is(table, MAIN))
            require(tx, {MAIN: onto, self.name: head})
