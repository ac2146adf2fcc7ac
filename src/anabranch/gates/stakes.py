"""Which red gates block a replay, by its size and criticality. Pure.

A gate is red because a check failed, or because its answer is unknown. A failed check blocks every replay. An unknown
answer blocks a replay that is high-volume or business-critical, in a context that enforces gates; a small one passes
there once a person has acknowledged it by name, and where gates are not enforced it is acknowledged automatically.
An override by name passes any gate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from anabranch.gates.colour import Colour
from anabranch.gates.gate import Judgement
from anabranch.project.sections.gates import HighVolume

DRILL_LABEL = "anabranch-drill"
"""Label of a drill's contract; its value is the pipeline's name."""


@dataclass(frozen=True)
class Stakes:
    """The size and the importance of one replay, and whether its context enforces gates."""

    enforced: bool
    basis: str
    """Why gates are not enforced: by the context, or because it is a drill. None: they are."""
    high: tuple[str, ...]
    """Why it is high-volume or business-critical; empty: it is neither."""
    size: str
    """What it reads, as text."""

    @property
    def unknown_blocks(self) -> bool:
        return self.enforced and bool(self.high)

    @property
    def words(self) -> str:
        if not self.enforced:
            return f"{self.basis}: a gate whose answer is unknown does not block"
        if self.high:
            return f"a gate whose answer is unknown blocks: {'; '.join(self.high)}"
        return f"small ({self.size}): a gate whose answer is unknown passes once it is acknowledged by name"

    def document(self) -> dict[str, Any]:
        return {"enforced": self.enforced, "basis": self.basis, "high": list(self.high), "size": self.size}


def stakes_of(
    *,
    enforced: bool,
    context: str,
    business_critical: bool,
    records: int,
    bytes_: int | None,
    limit: HighVolume,
) -> Stakes:
    """The stakes of a replay of this size. An unknown number of bytes counts as high-volume."""
    high = []
    if business_critical:
        high.append("the pipeline is business-critical")
    if records > limit.records:
        high.append(f"{records:,} offsets exceed gates.highVolume.records, {limit.records:,}")
    if bytes_ is None:
        high.append("its size in bytes is unknown, which counts as high-volume")
    elif bytes_ > limit.bytes:
        high.append(f"{bytes_:,} bytes exceed gates.highVolume.bytes, {limit.bytes:,}")
    size = f"{records:,} offsets, " + ("size unknown" if bytes_ is None else f"about {bytes_:,} bytes")
    return Stakes(enforced, "" if enforced else f"context {context} does not enforce gates", tuple(high), size)


def drilled(stakes: Stakes, records: int, limit: HighVolume) -> Stakes:
    """The stakes of a drill's replay, which is never promoted and measures the unknown answers.

    A drill that reads more records than the limit is treated as any other replay.
    """
    return stakes if records > limit.records else replace(stakes, enforced=False, basis="a drill is never promoted")


def may_be_acknowledged(judgement: Judgement, stakes: Stakes) -> bool:
    """Whether a red gate may be acknowledged: its answer is unknown, and the replay is small."""
    return judgement.colour is Colour.RED and not judgement.failed and not stakes.unknown_blocks


def blocks(judgement: Judgement, stakes: Stakes, *, overridden: bool, acknowledged: bool) -> bool:
    """Whether this gate stops the replay."""
    if judgement.colour is not Colour.RED or overridden:
        return False
    if not may_be_acknowledged(judgement, stakes):
        return True
    return stakes.enforced and not acknowledged
