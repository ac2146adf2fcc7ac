"""Live's commits to a table, as they appear. No JVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyiceberg.table import Table

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import ancestry
from anabranch.plan.slices import Offsets
from anabranch.promote.history import Author
from anabranch.replay.live_sources import SeenCommit

GAPS = 20
"""How many commits the usual gap between two is taken from."""


@dataclass
class LiveCommits:
    load: Callable[[], Table]
    pipeline: str
    position: dict[int, int] = field(default_factory=dict)
    """Of live by its commits so far: the end of each partition; empty: none was found."""
    last: float | None = None
    """When the newest was committed, by the clock of who committed."""
    gap: float | None = None
    """Seconds between two commits: the median of the last ones; None: fewer than two."""
    _seen: int | None = None
    _times: list[float] = field(default_factory=list)

    def look(self) -> list[SeenCommit]:
        """The commits since the look before, oldest first. The first look finds where live stands."""
        table = self.load()
        known, found = self._seen, []
        head = table.current_snapshot()
        for snapshot in ancestry(table, head):
            if snapshot.snapshot_id == known:
                break
            summary = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
            if _is_live(summary, self.pipeline):
                found.append(SeenCommit(snapshot.timestamp_ms / 1000, props.read_offsets(summary)))
        self._seen = head.snapshot_id if head is not None else None
        # After a rollback of the table older commits are met again.
        found = [each for each in reversed(found) if self._is_new(each.offsets)]
        for commit in found:
            self.position.update({partition: end for partition, (_, end) in commit.offsets.items()})
        self._times = [*self._times, *(each.at for each in found)][-GAPS:]
        gaps = sorted(later - earlier for earlier, later in zip(self._times, self._times[1:], strict=False))
        self.gap = gaps[len(gaps) // 2] if gaps else None
        self.last = self._times[-1] if self._times else None
        return found

    def _is_new(self, offsets: Offsets) -> bool:
        return any(end > self.position.get(partition, -1) for partition, (_, end) in offsets.items())


def _is_live(summary: Mapping[str, str], pipeline: str) -> bool:
    return summary.get(props.AUTHOR) == Author.LIVE.value and summary.get(props.PIPELINE) == pipeline
