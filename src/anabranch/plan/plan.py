"""The plan: every decision and every pinned input, hashed. The run does exactly this or stops.

It contains only what must not drift, so that planning twice with unchanged inputs gives the same hash. Values that
change with every measurement (remaining retention, bytes) are in the estimates.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter

from anabranch.plan.lookup_tables import LookupPin
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.slices import Ranges, Slice
from anabranch.plan.strategies.start_snapshots import StartSnapshot
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.strategies.stream_start import StreamStart
from anabranch.plan.target_range import EventSpan, TargetPart
from anabranch.runs.canonical import canonical
from anabranch.runs.heads import Head


@dataclass(frozen=True)
class PlannedSource:
    """The topic when the plan was made. A topic with the same name and another UUID is another topic."""

    topic: str
    uuid: str
    partitions: int
    ranges: Ranges
    live: Mapping[int, int]
    """Live's position at the base snapshot, per partition; empty if the contract says that no other writer
    commits to the table. No range ends later: later records are live's to write."""
    proof: Mapping[int, Proof] = field(default_factory=dict)
    """Why the ranges contain every event, for each partition that has offsets."""
    isolation: str = "read_committed"
    compacted: bool | None = False
    """None: the cluster did not report it."""


@dataclass(frozen=True)
class PlannedTarget:
    """The table when the plan was made, and the part of it that is replaced."""

    table: str
    base: Head
    """Snapshot of main that the plan was made from."""
    schema: str
    """Digest of the columns: ids, names, types, order."""
    partitions: TargetPart
    """The replaced part: whole partitions, or the whole table."""
    requested_start: datetime | None
    requested_end: datetime | None
    """The contract's range before widening; None for everything."""
    files: int = 0
    rows: int = 0
    """Files and rows of the range at the base, which are replaced."""
    no_live_writer: bool = False
    """Whether the contract says that no other writer commits to the table; promotion is refused if one did."""


@dataclass(frozen=True)
class Plan:
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    """Applies to the dataclasses within, too: an unknown field is refused when a plan is read."""

    pipeline: str
    contract: str
    """Hash of the contract."""
    code: str
    """Digest of the transform's files."""
    source: PlannedSource
    target: PlannedTarget
    slices: tuple[Slice, ...]
    checks: tuple[str, ...] = ()
    """Names of the checks of validation."""
    strategy: Strategy = Strategy.REPLACE_RANGE
    state: StartSnapshot | None = None
    """The snapshot that a replay of the whole table starts from; None where a range is replaced."""
    reading: EventSpan | None = None
    """Event times read for windows, which may exceed the range. None: those of the range."""
    stream: StreamStart | None = None
    """Start of a stream-faithful replay; None for any other."""
    lookups: Mapping[str, LookupPin] = field(default_factory=dict)
    """The snapshot of each lookup table, by the name that the transform uses."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """Each field of the pipeline that can change rows or a verdict, by its path in the file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests of the files that validation reads: SQL checks and known records."""
    control: str | None = None
    """Digest of the control's code, replayed beside the corrected one; None without a control."""

    @property
    def staging_base(self) -> Head:
        """The snapshot that the staging branch is created from."""
        return self.start_snapshot or self.target.base

    @property
    def replaced_range(self) -> TargetPart | None:
        """The part removed from the staging base; None: nothing is removed."""
        return None if self.start_snapshot else self.target.partitions

    @property
    def start_snapshot(self) -> Head | None:
        """Where a replay of the whole table starts; None where a range is replaced."""
        return None if self.state is None else self.state.snapshot

    def document(self) -> dict[str, Any]:
        """The plan as plain JSON values, with every field: what is printed, stored and hashed."""
        document: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return document

    @property
    def hash(self) -> str:
        """SHA-256 of the document: plans with different effects have different hashes."""
        return hashlib.sha256(canonical(self.document()).encode()).hexdigest()


def read_plan(document: object) -> Plan:
    """The reverse of `Plan.document`. Raises ValueError for a field that is missing, unknown or of another type."""
    return _adapter().validate_json(json.dumps(document), strict=True)


def ranges_document(ranges: Ranges) -> dict[str, list[list[int]]]:
    return {str(p): [[start, end] for start, end in intervals] for p, intervals in sorted(ranges.items())}


@cache
def _adapter() -> TypeAdapter[Plan]:
    """Built on first use: most commands read no plan."""
    return TypeAdapter(Plan)
