"""Plans a backfill: measures table, topic and zone map in this order, makes the plan and pins what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from anabranch.contract.code import code_digest
from anabranch.contract.code_store import CodeStore
from anabranch.contract.determinism.transform import find_unpinned
from anabranch.contract.pins import declared, pin_files
from anabranch.plan.control import CodeVersions, pin_control
from anabranch.plan.lookup_tables import LookupReader, pin_all
from anabranch.plan.offsets.completeness import MicrosRange, moments_of
from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.offsets.zones import NO_MAP, ZoneMap
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned, make_plan
from anabranch.plan.ports import SourceFacts, SourceSurveyor, TargetSurveyor
from anabranch.plan.preconditions import check_target
from anabranch.plan.repeatable import require_repeatable, with_unpinned
from anabranch.plan.request import BackfillRequest
from anabranch.plan.retention.facts import RetentionObserver
from anabranch.plan.retention.planning import race_of_plan, race_options
from anabranch.plan.retention.rate import ReplayRate
from anabranch.plan.strategies.event_windows import require_closed
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.strategies.stream_start import StreamCheckpoint


class ZoneReader(Protocol):
    def __call__(self, request: BackfillRequest, source: SourceFacts, moments: MicrosRange) -> ZoneMap:
        """What the zone map of the topic says of these moments. Changes nothing."""


@dataclass(frozen=True)
class PlanningPorts:
    """What planning looks at. Nothing is created or changed by any of it."""

    folder: Path
    """The project's, with the transform and the files of the checks."""
    require_source: Callable[[], object]
    """Raises KafkaUnreachableError at once if the topic's cluster does not answer."""
    source: SourceSurveyor
    target: TargetSurveyor
    zones: ZoneReader
    lookups: Callable[[], LookupReader]
    checkpoints: Callable[[], Sequence[StreamCheckpoint]]
    """Live's checkpoints that are kept, newest first."""
    codes: CodeStore
    """The versions of the code that live has run."""
    code_versions: Callable[[Plan], CodeVersions]
    """Which of them wrote the plan's range."""
    retention: Callable[[Plan], RetentionObserver] | None = None
    rate: Callable[[Planned], ReplayRate | None] = lambda _: None
    """Of the replay, as far as it was measured."""


def plan_request(
    request: BackfillRequest, ports: PlanningPorts, *, now: datetime, offsets_per_slice: int | None = None
) -> Planned:
    """The plan for the request, as the world is now. Raises PlanRefusedError for the first reason against one."""
    unpinned = require_repeatable(request.pipeline, find_unpinned(ports.folder, request.pipeline))
    code = code_digest(ports.folder, request.pipeline)
    ports.require_source()
    # The table before the topic: then live's position at the base is never beyond the end that is seen.
    target = ports.target.measure(request)
    check_target(request, target)
    part = require_closed(request, target) or target.partitions
    topic = request.pipeline.spec.source.topic
    source = ports.source.measure(topic, timestamp_bounds(part, request.slack, everything=request.everything))
    planned = make_plan(
        request,
        code,
        source,
        target,
        now=now,
        zones=NO_MAP if request.everything else ports.zones(request, source, moments_of(part)),
        offsets_per_slice=offsets_per_slice,
        measure=partial(ports.source.measure, topic),
        checkpoints=ports.checkpoints() if request.strategy is Strategy.STREAM else (),
    )
    plan = replace(
        planned.plan,
        declared=declared(request.pipeline),
        files=pin_files(ports.folder, request.backfill),
        lookups=pin_all(request, ports.lookups(), now),
        control=pin_control(request, planned.plan, ports.codes, partial(ports.code_versions, planned.plan)),
    )
    planned = replace(planned, plan=plan, estimates=with_unpinned(planned.estimates, unpinned))
    return planned if ports.retention is None else _raced(planned, ports, ports.retention(plan), offsets_per_slice)


def _raced(
    planned: Planned, ports: PlanningPorts, observer: RetentionObserver, offsets_per_slice: int | None
) -> Planned:
    """The plan with its race against retention; its slices are cut by expiry where only that wins."""
    plan = planned.plan
    facts = observer.measure(plan.slices)
    options = race_options(plan, planned.request.backfill)
    slices, race = race_of_plan(plan, facts, ports.rate(planned), options, offsets_per_slice)
    return replace(planned, plan=replace(plan, slices=slices), race=race)
