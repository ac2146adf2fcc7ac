"""Who has made a range of a table what it is at a snapshot, by the table's own history. No JVM, no change."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import ancestry, operation_of, said_by
from anabranch.adapters.iceberg.files import changed_in
from anabranch.adapters.iceberg.live import TOPIC
from anabranch.adapters.iceberg.refs import head_of, snapshot_of
from anabranch.plan.control import CodeVersions, LiveCodeUse
from anabranch.plan.plan import Plan
from anabranch.plan.target_range import TargetPart, WholeTable
from anabranch.promote.history import Author


def authorship(table: Table, plan: Plan) -> CodeVersions:
    """Live's commits and promotions up to the plan's base, as far back as history is kept or the plan's start state."""
    live: list[LiveCodeUse] = []
    promoted: list[str] = []
    taken_back: set[str] = set()
    part = plan.target.partitions
    for snapshot in ancestry(table, table.snapshot_by_id(snapshot_of(plan.target.base))):
        if plan.state is not None and head_of(snapshot.snapshot_id) == plan.state.snapshot:
            break
        said = said_by(snapshot)
        run = said.get(props.RUN, "")
        match props.author(said, operation_of(snapshot)):
            case Author.LIVE if said.get(props.PIPELINE) == plan.pipeline and said.get(TOPIC) == plan.source.uuid:
                live.append(
                    LiveCodeUse(props.read_offsets(said), said.get(props.CODE), _touches(table, snapshot, part))
                )
            case Author.ROLLBACK:
                taken_back.add(run)
            case Author.PROMOTION if run in taken_back:
                taken_back.remove(run)
            case Author.PROMOTION if _touches(table, snapshot, part):
                promoted.append(run)
            case _:
                pass
    return CodeVersions(tuple(live), tuple(promoted))


def _touches(table: Table, snapshot: Snapshot, part: TargetPart) -> bool:
    """Where the whole table is replaced, every commit counts, also one that has changed no row."""
    return isinstance(part, WholeTable) or bool(changed_in(table, snapshot, part).added)
