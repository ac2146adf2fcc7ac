"""Which code wrote a range of a table, from the properties of its commits. Reads only, no JVM."""

from __future__ import annotations

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, ancestry, back, operation_of, said_by
from anabranch.adapters.iceberg.files import changed_in
from anabranch.adapters.iceberg.live import TOPIC
from anabranch.adapters.iceberg.refs import head_of, snapshot_of
from anabranch.plan.control import CodeVersions, LiveCodeUse
from anabranch.plan.plan import Plan
from anabranch.plan.target_range import TargetPart, WholeTable
from anabranch.promote.history import Author


def code_versions(table: Table, plan: Plan) -> CodeVersions:
    """Commits of live and promotions in the range up to the plan's base, as far back as snapshots are kept.

    Stops at the plan's start snapshot if it has one. A promotion that was rolled back is left out.
    """
    live: list[LiveCodeUse] = []
    promoted: list[str] = []
    rolled_back: set[str] = set()
    part = plan.target.partitions
    for snapshot in ancestry(table, table.snapshot_by_id(snapshot_of(plan.target.base))):
        if plan.state is not None and head_of(snapshot.snapshot_id) == plan.state.snapshot:
            break
        properties = said_by(snapshot)
        run = properties.get(props.RUN, "")
        source = (properties.get(props.PIPELINE), properties.get(TOPIC))
        match props.author(properties, operation_of(snapshot)):
            case Author.LIVE if source == (plan.pipeline, plan.source.uuid):
                touches = _touches(table, snapshot, part)
                live.append(LiveCodeUse(props.read_offsets(properties), properties.get(props.CODE), touches))
            case Author.ROLLBACK:
                rolled_back.add(run)
            case Author.PROMOTION if run in rolled_back:
                rolled_back.remove(run)
            case Author.PROMOTION if _touches(table, snapshot, part):
                promoted.append(run)
            case _:
                pass
    return CodeVersions(tuple(live), tuple(promoted))


def _touches(table: Table, snapshot: Snapshot, part: TargetPart) -> bool:
    """Whether the commit added files to the range. If the whole table is replaced, every commit counts."""
    return isinstance(part, WholeTable) or bool(changed_in(table, snapshot, part).added)


def live_code_digests(table: Table, pipeline: str) -> tuple[str, ...]:
    """The digests of the transforms that live ran, newest first without repeats, as far back as snapshots are kept."""
    codes: dict[str, None] = {}
    for snapshot in back(table, MAIN):
        properties = said_by(snapshot)
        is_live = properties.get(props.AUTHOR) == Author.LIVE.value and properties.get(props.PIPELINE) == pipeline
        if is_live and props.CODE in properties:
            codes[properties[props.CODE]] = None
    return tuple(codes)
