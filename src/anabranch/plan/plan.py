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

from anabranch.plan.axis import Grain, PartitionRange, TimeAxis
from anabranch.plan.completeness import Proof
from anabranch.plan.intervals import Intervals
from anabranch.plan.slices import Offsets, Ranges, Slice
from anabranch.runs.canonical import canonical, instant, instant_text


@dataclass(frozen=True)
class Source:
    """The topic as it was when the plan was made. Another UUID under the same name is another topic."""

    topic: str
    uuid: str
    partitions: int
    ranges: Ranges
    live: Mapping[int, int]
    """Where live stood at the base snapshot, per partition; empty when no live commit is known. No range ends later:
    what live has not written yet is live's to write."""
    proof: Mapping[int, Proof] = field(default_factory=dict)
    """Why the ranges are known to hold every event, for each partition that has any offsets to choose from."""
    isolation: str = "read_committed"
    compacted: bool | None = False
    """None: the cluster did not say."""


@dataclass(frozen=True)
class Target:
    """The table as it was when the plan was made, and what of it is replaced."""

    table: str
    base: int
    """Snapshot of main that the plan was made from."""
    schema: str
    """Digest of the columns: ids, names, types, order."""
    partitions: PartitionRange
    """Whole partitions: what is taken out and put in."""
    asked_start: datetime | None
    asked_end: datetime | None
    """What the contract said, before widening; None for everything."""
    files: int = 0
    rows: int = 0
    """Of the range at the base: what is taken out."""


@dataclass(frozen=True)
class Plan:
    pipeline: str
    contract: str
    """Hash of the contract."""
    code: str
    """Digest of the transform's files."""
    source: Source
    target: Target
    slices: tuple[Slice, ...]
    checks: tuple[str, ...] = ()
    """What validation will look at, by name."""

    def document(self) -> dict[str, Any]:
        """The plan as plain JSON values: what is printed, stored and hashed."""
        plan = asdict(self)
        plan["source"]["ranges"] = ranges_document(self.source.ranges)
        plan["source"]["proof"] = {str(p): proof.value for p, proof in sorted(self.source.proof.items())}
        plan["source"]["live"] = {str(p): offset for p, offset in sorted(self.source.live.items())}
        plan["target"]["partitions"]["axis"]["grain"] = self.target.partitions.axis.grain.value
        for end in ("asked_start", "asked_end"):
            moment = getattr(self.target, end)
            plan["target"][end] = None if moment is None else instant_text(moment)
        plan["slices"] = [{"id": each.id, "offsets": _pairs(each.offsets)} for each in self.slices]
        plan["checks"] = list(self.checks)
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
    source["live"] = {int(p): offset for p, offset in source["live"].items()}
    axis = target["partitions"]["axis"]
    target["partitions"] = PartitionRange(
        TimeAxis(axis["column"], Grain(axis["grain"])), target["partitions"]["first"], target["partitions"]["after"]
    )
    for end in ("asked_start", "asked_end"):
        target[end] = None if target[end] is None else instant(target[end])
    return Plan(
        pipeline=document["pipeline"],
        contract=document["contract"],
        code=document["code"],
        source=Source(**source),
        target=Target(**target),
        slices=tuple(Slice(each["id"], _offsets(each["offsets"])) for each in document["slices"]),
        checks=tuple(document.get("checks", ())),
    )


def ranges_document(ranges: Ranges) -> dict[str, list[list[int]]]:
    return {str(p): [[start, end] for start, end in intervals] for p, intervals in sorted(ranges.items())}


def _intervals(pairs: Iterable[Iterable[int]]) -> Intervals:
    return tuple((start, end) for start, end in pairs)


def _pairs(offsets: Offsets) -> dict[str, list[int]]:
    return {str(p): [start, end] for p, (start, end) in sorted(offsets.items())}


def _offsets(pairs: Mapping[str, list[int]]) -> dict[int, tuple[int, int]]:
    return {int(p): (start, end) for p, (start, end) in pairs.items()}
