"""The plan: what will happen, pinned and hashed. Made with no side effect; the run does exactly this or stops.

Only what must not drift is in it, so that planning twice with nothing changed gives the same hash. What changes with
every look (how long retention leaves, how many bytes it may be) is in the outlook.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from anabranch.plan.lookup_tables import LookupPin, pins_document, read_pins
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.offsets.event_span import EventSpan
from anabranch.plan.offsets.intervals import Intervals
from anabranch.plan.slices import Offsets, Ranges, Slice
from anabranch.plan.strategies.start_snapshots import StartSnapshot
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.strategies.stream_start import StreamStart
from anabranch.plan.target_range import Grain, PartitionRange, TargetPart, TimeAxis, WholeTable
from anabranch.runs.canonical import canonical, instant, instant_text
from anabranch.runs.heads import Head


@dataclass(frozen=True)
class PlannedSource:
    """The topic as it was when the plan was made. Another UUID under the same name is another topic."""

    topic: str
    uuid: str
    partitions: int
    ranges: Ranges
    live: Mapping[int, int]
    """Where live stood at the base snapshot, per partition; empty when the contract says that nothing else
    writes to the table. No range ends later: what live has not written yet is live's to write."""
    proof: Mapping[int, Proof] = field(default_factory=dict)
    """Why the ranges are known to hold every event, for each partition that has any offsets to choose from."""
    isolation: str = "read_committed"
    compacted: bool | None = False
    """None: the cluster did not say."""


@dataclass(frozen=True)
class PlannedTarget:
    """The table as it was when the plan was made, and what of it is replaced."""

    table: str
    base: Head
    """Snapshot of main that the plan was made from."""
    schema: str
    """Digest of the columns: ids, names, types, order."""
    partitions: TargetPart
    """Whole partitions, or all of the table: what is taken out and put in."""
    asked_start: datetime | None
    asked_end: datetime | None
    """What the contract said, before widening; None for everything."""
    files: int = 0
    rows: int = 0
    """Of the range at the base: what is taken out."""
    no_live_writer: bool = False
    """The contract says that nothing else writes to the table: promotion is refused if anything did since the base."""


@dataclass(frozen=True)
class Plan:
    pipeline: str
    contract: str
    """Hash of the contract."""
    code: str
    """Digest of the transform's files."""
    source: PlannedSource
    target: PlannedTarget
    slices: tuple[Slice, ...]
    checks: tuple[str, ...] = ()
    """What validation will look at, by name."""
    strategy: Strategy = Strategy.REPLACE_RANGE
    state: StartSnapshot | None = None
    """What the whole table is replayed from; None where a range of it is replaced."""
    reading: EventSpan | None = None
    """Of windows: the events read for them, before and after the range too. None: those of the range itself."""
    stream: StreamStart | None = None
    """Where a replay as a stream starts; None for any other."""
    lookups: Mapping[str, LookupPin] = field(default_factory=dict)
    """The snapshot of each lookup table, by the name that the transform uses."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """The pipeline as it was declared: each field that can change rows or a verdict, by its path in the file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Digests of the files that validation reads: SQL checks and known records."""
    control: str | None = None
    """Digest of the code that is replayed beside the corrected one, to tell the fix from what differed before."""

    @property
    def staging_base(self) -> Head:
        """The snapshot that staging grows from."""
        return self._kept_state or self.target.base

    @property
    def replaced_range(self) -> TargetPart | None:
        """What staging does not have of its root; None: it has all of it."""
        return None if self._kept_state else self.target.partitions

    @property
    def _kept_state(self) -> Head | None:
        return None if self.state is None else self.state.snapshot

    def document(self) -> dict[str, Any]:
        """The plan as plain JSON values: what is printed, stored and hashed."""
        plan = asdict(self)
        plan["source"]["ranges"] = ranges_document(self.source.ranges)
        plan["source"]["proof"] = {str(p): proof.value for p, proof in sorted(self.source.proof.items())}
        plan["source"]["live"] = _by_partition(self.source.live)
        plan["target"]["partitions"] = _part_document(self.target.partitions)
        for end in ("asked_start", "asked_end"):
            moment = getattr(self.target, end)
            plan["target"][end] = None if moment is None else instant_text(moment)
        plan["slices"] = [_slice(each) for each in self.slices]
        if self.reading is None:
            del plan["reading"]
        else:
            plan["reading"] = [instant_text(moment) for moment in (self.reading.start, self.reading.end)]
        if self.stream is None:
            del plan["stream"]
        else:
            plan["stream"]["position"] = _by_partition(self.stream.position)
        plan["lookups"] = pins_document(self.lookups)
        # What a plan does not have is not in it, so that its hash is the one it had before there was such a thing.
        for name in ("lookups", "control"):
            if not plan[name]:
                del plan[name]
        plan["checks"] = list(self.checks)
        plan["strategy"] = self.strategy.value
        if self.state is not None:
            plan["state"] = {"snapshot": self.state.snapshot, "position": _by_partition(self.state.position)}
        return plan

    @property
    def hash(self) -> str:
        """Names exactly this plan: any difference in what would happen is another hash."""
        return hashlib.sha256(canonical(self.document()).encode()).hexdigest()


def read_plan(document: Mapping[str, Any]) -> Plan:
    """The reverse of `Plan.document`."""
    source, target = dict(document["source"]), dict(document["target"])
    source["ranges"] = {int(p): _intervals(pairs) for p, pairs in source["ranges"].items()}
    source["proof"] = {int(p): Proof(proof) for p, proof in source["proof"].items()}
    source["live"] = _read_by_partition(source["live"])
    target["partitions"] = _read_part(target["partitions"])
    state, stream = document.get("state"), document.get("stream")
    for end in ("asked_start", "asked_end"):
        target[end] = None if target[end] is None else instant(target[end])
    return Plan(
        pipeline=document["pipeline"],
        contract=document["contract"],
        code=document["code"],
        source=PlannedSource(**source),
        target=PlannedTarget(**target),
        slices=tuple(_read_slice(each) for each in document["slices"]),
        checks=tuple(document.get("checks", ())),
        strategy=Strategy(document["strategy"]),
        reading=None if "reading" not in document else EventSpan(*(instant(text) for text in document["reading"])),
        lookups=read_pins(document.get("lookups", {})),
        declared=document["declared"],
        files=document["files"],
        control=document.get("control"),
        state=None if state is None else StartSnapshot(state["snapshot"], _read_by_partition(state["position"])),
        stream=None
        if stream is None
        else StreamStart(**{**stream, "position": _read_by_partition(stream["position"])}),
    )


def ranges_document(ranges: Ranges) -> dict[str, list[list[int]]]:
    return {str(p): [[start, end] for start, end in intervals] for p, intervals in sorted(ranges.items())}


def _intervals(pairs: Iterable[Iterable[int]]) -> Intervals:
    return tuple((start, end) for start, end in pairs)


def _part_document(part: TargetPart) -> dict[str, Any]:
    axis = None if part.axis is None else {"column": part.axis.column, "grain": part.axis.grain.value}
    match part:
        case PartitionRange():
            return {"axis": axis, "first": part.first, "after": part.after}
        case WholeTable():
            return {"axis": axis, "since": None if part.since is None else instant_text(part.since)}


def _read_part(document: Mapping[str, Any]) -> TargetPart:
    axis = document["axis"] and TimeAxis(document["axis"]["column"], Grain(document["axis"]["grain"]))
    if "first" in document:
        return PartitionRange(axis, document["first"], document["after"])
    return WholeTable(axis, None if document["since"] is None else instant(document["since"]))


def _by_partition(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(p): offset for p, offset in sorted(offsets.items())}


def _read_by_partition(document: Mapping[str, int]) -> dict[int, int]:
    return {int(p): offset for p, offset in document.items()}


def _pairs(offsets: Offsets) -> dict[str, list[int]]:
    return {str(p): [start, end] for p, (start, end) in sorted(offsets.items())}


def _offsets(pairs: Mapping[str, list[int]]) -> dict[int, tuple[int, int]]:
    return {int(p): (start, end) for p, (start, end) in pairs.items()}


def _slice(slice_: Slice) -> dict[str, Any]:
    said: dict[str, Any] = {"id": slice_.id, "offsets": _pairs(slice_.offsets)}
    if slice_.reads is not None:
        said["reads"] = ranges_document(slice_.reads)
    if slice_.windows is not None:
        said["windows"] = list(slice_.windows)
    if slice_.closes is not None:
        said["closes"] = slice_.closes
    return said


def _read_slice(said: Mapping[str, Any]) -> Slice:
    reads = {int(p): _intervals(pairs) for p, pairs in said["reads"].items()} if "reads" in said else None
    windows = (said["windows"][0], said["windows"][1]) if "windows" in said else None
    return Slice(said["id"], _offsets(said["offsets"]), reads, windows, said.get("closes"))
