"""Plans a backfill of a project, and later tells whether what it was made from is still so. No JVM, no side effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from anabranch.adapters.checkpoints.checkpoint_store import KeptCheckpoints
from anabranch.adapters.iceberg.commits import ancestry
from anabranch.adapters.iceberg.facts import IcebergTables, schema_digest, shown_axis, usable_axis
from anabranch.adapters.iceberg.files import NotPartitionedByTimeError
from anabranch.adapters.iceberg.lookups import IcebergLookups
from anabranch.adapters.iceberg.target import IcebergTarget, TargetMissingError
from anabranch.adapters.iceberg.zones import IcebergZones, MapKey
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.facts import CLIENT_ID, KafkaSource
from anabranch.adapters.kafka.topics import TopicMissingError, describe_topic, offset_ranges
from anabranch.app.control import pin_control, with_control
from anabranch.app.project_context import ProjectContext
from anabranch.app.target_catalog import target_catalog
from anabranch.contract.code import code_digest, reading_digest
from anabranch.contract.determinism.transform import find_unpinned
from anabranch.contract.load import load_contract
from anabranch.contract.pins import declared, digest_files, pin_files
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.drift import Drift, InputObserver, ObservedInputs, check_drift, lost_of
from anabranch.plan.drift_errors import require_no_drift
from anabranch.plan.lookup_tables import pin_all
from anabranch.plan.offsets.completeness import moments_of
from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.offsets.zones import NO_MAP
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned, make_plan
from anabranch.plan.preconditions import check_target
from anabranch.plan.repeatable import require_repeatable, with_unpinned
from anabranch.plan.request import resolve_request
from anabranch.plan.slices import Ranges
from anabranch.plan.strategies.event_windows import require_closed
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import TimeAxis, WholeTable


def plan_backfill(
    project_context: ProjectContext,
    contract: Path,
    *,
    now: datetime,
    offsets_per_slice: int | None = None,
    control: bool = False,
) -> Planned:
    """The plan for the contract in this file, as the world is now. `control` asks for one if the contract does not."""
    loaded = load_contract(project_context.loaded, contract)
    request = resolve_request(with_control(loaded.backfill, wanted=control), loaded.pipeline.pipeline, now)
    unpinned = require_repeatable(request.pipeline, find_unpinned(project_context.folder, request.pipeline))
    code = code_digest(project_context.folder, request.pipeline)
    require_answer(project_context.kafka.client(CLIENT_ID))
    source = KafkaSource(project_context.kafka)
    # First the table, then the topic: so live's position at the base is never beyond the end that is seen.
    tables = target_catalog(project_context, request.pipeline)
    target_facts = IcebergTables(tables).measure(request)
    check_target(request, target_facts)
    part = require_closed(request, target_facts) or target_facts.partitions
    window = timestamp_bounds(part, request.slack, everything=request.everything)
    topic = request.pipeline.spec.source.topic
    source_facts = source.measure(topic, window)
    zones = NO_MAP
    if not request.everything:
        key = MapKey(source_facts.uuid, reading_digest(request.pipeline.spec))
        zones = IcebergZones(tables, target_facts.table).look(key, moments_of(part))
    planned = make_plan(
        request,
        code,
        source_facts,
        target_facts,
        now=now,
        zones=zones,
        offsets_per_slice=offsets_per_slice,
        measure=partial(source.measure, topic),
        checkpoints=KeptCheckpoints.of(project_context.state, request.pipeline.metadata.name).all()
        if request.strategy is Strategy.STREAM
        else (),
    )
    plan = replace(
        planned.plan,
        declared=declared(request.pipeline),
        files=pin_files(project_context.folder, request.backfill),
        lookups=pin_all(request, IcebergLookups(tables), now),
        control=pin_control(project_context, request, planned.plan, tables),
    )
    return replace(planned, plan=plan, outlook=with_unpinned(planned.outlook, unpinned))


@dataclass(frozen=True)
class ProjectInputs:
    """What a plan has pinned, as it is now."""

    project_context: ProjectContext
    pipeline: Pipeline
    plan: Plan

    def now(self) -> ObservedInputs:
        uuid, earliest = self._topic()
        schema, axis, base_kept = self._table()
        folder = self.project_context.folder
        return ObservedInputs(
            uuid,
            len(earliest),
            earliest,
            code_digest(folder, self.pipeline),
            schema,
            axis,
            base_kept,
            self._lookups_gone(),
            declared(self.pipeline),
            digest_files(folder, self.plan.files),
        )

    def _lookups_gone(self) -> frozenset[str]:
        if not self.plan.lookups:
            return frozenset()
        look = IcebergLookups(self.project_context.catalog.open())
        return frozenset(name for name, pin in self.plan.lookups.items() if not look.is_retained(pin))

    def _topic(self) -> tuple[str | None, dict[int, int]]:
        client = self.project_context.kafka.client(CLIENT_ID)
        try:
            topic = describe_topic(client, self.plan.source.topic)
            ends = offset_ranges(client, topic)
        except TopicMissingError:
            return None, {}
        return topic.uuid, {number: earliest for number, (earliest, _) in ends.items()}

    def _table(self) -> tuple[str | None, TimeAxis | None, bool]:
        try:
            table = IcebergTarget(self.project_context.catalog.open(), self.plan.target.table).load()
        except TargetMissingError:
            return None, None, False
        line = ancestry(table, table.current_snapshot())
        base_kept = any(snapshot.snapshot_id == self.plan.target.base for snapshot in line)
        if isinstance(self.plan.target.partitions, WholeTable):
            return schema_digest(table), shown_axis(table, self.pipeline.spec.event_time.field), base_kept
        try:
            return schema_digest(table), usable_axis(table), base_kept
        except NotPartitionedByTimeError:
            return schema_digest(table), None, base_kept


@dataclass(frozen=True)
class DriftGuard:
    """Stops a run when what its plan pinned has changed."""

    plan: Plan
    present: InputObserver
    wanted: Ranges
    """All that is to be read by the end."""
    needed: Callable[[], Ranges]
    """Of those, the offsets still to be read: those in staging already may go. Asked when some have gone."""
    flag: Callable[[Drift], None]
    """Told of every drift, also of those that don't stop the run."""

    def check(self) -> None:
        now = self.present.now()
        drifts = check_drift(self.plan, now, self.needed() if lost_of(self.wanted, now.earliest) else {})
        for drift in drifts:
            self.flag(drift)
        require_no_drift(self.plan, drifts)
