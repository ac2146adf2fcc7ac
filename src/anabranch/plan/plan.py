"""The plan: what will happen, pinned and hashed. Made with no side effect; the run does exactly this or stops.

Only what must not drift is in it, so that planning twice with nothing changed gives the same hash. What changes with
every look (how long retention leaves, how many bytes it may be) is in the outlook.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from anabranch.plan.axis import Grain, PartitionRange, TimeAxis
from anabranch.plan.reading import Reading
from anabranch.plan.slices import Offsets, Slice
from anabranch.runs.canonical import canonical, instant, instant_text


@dataclass(frozen=True)
class Source:
    """The topic as it was when the plan was made. Another UUID under the same name is another topic."""

    topic: str
    uuid: str
    partitions: int
    ranges: Offsets
    live: Mapping[int, int]
    """Where live stood at the base snapshot, per partition; empty when no live commit is known. No range ends later:
    what live has not written yet is live's to write."""
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
    reading: Reading | None = None
    """Of windows: the events read for them, before and after the range too. None: those of the range itself."""

    def document(self) -> dict[str, Any]:
        """The plan as plain JSON values: what is printed, stored and hashed."""
        plan = asdict(self)
        plan["source"]["ranges"] = _pairs(self.source.ranges)
        plan["source"]["live"] = {str(p): offset for p, offset in sorted(self.source.live.items())}
        plan["target"]["partitions"]["axis"]["grain"] = self.target.partitions.axis.grain.value
        for end in ("asked_start", "asked_end"):
            moment = getattr(self.target, end)
            plan["target"][end] = None if moment is None else instant_text(moment)
        plan["slices"] = [_slice(each) for each in self.slices]
        if self.reading is None:
            del plan["reading"]
        else:
            plan["reading"] = [instant_text(moment) for moment in (self.reading.start, self.reading.end)]
        plan["checks"] = list(self.checks)
        return plan

    @property
    def hash(self) -> str:
        """Names exactly this plan: any difference in what would happen is another hash."""
        return hashlib.sha256(canonical(self.document()).encode()).hexdigest()


def read_plan(document: Mapping[str, Any]) -> Plan:
    """The reverse of `Plan.document`."""
    source, target = dict(document["source"]), dict(document["target"])
    source["ranges"] = _offsets(source["ranges"])
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
        slices=tuple(_read_slice(each) for each in document["slices"]),
        checks=tuple(document.get("checks", ())),
        reading=None if "reading" not in document else Reading(*(instant(text) for text in document["reading"])),
    )


def _slice(piece: Slice) -> dict[str, Any]:
    said: dict[str, Any] = {"id": piece.id, "offsets": _pairs(piece.offsets)}
    if piece.reads is not None:
        said["reads"] = _pairs(piece.reads)
    if piece.windows is not None:
        said["windows"] = list(piece.windows)
    return said


def _read_slice(said: Mapping[str, Any]) -> Slice:
    reads = _offsets(said["reads"]) if "reads" in said else None
    windows = (said["windows"][0], said["windows"][1]) if "windows" in said else None
    return Slice(said["id"], _offsets(said["offsets"]), reads, windows)


def _pairs(offsets: Offsets) -> dict[str, list[int]]:
    return {str(p): [start, end] for p, (start, end) in sorted(offsets.items())}


def _offsets(pairs: Mapping[str, list[int]]) -> dict[int, tuple[int, int]]:
    return {int(p): (start, end) for p, (start, end) in pairs.items()}
