"""The start of a stream-faithful replay: live's last stored checkpoint before the range, or live's first batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from anabranch.plan.offsets.completeness import Reading
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.strategies.live_batches import WindowedBatch, chain
from anabranch.plan.strategies.start_snapshots import last_good, precedes
from anabranch.plan.target_range import EPOCH
from anabranch.runs.canonical import canonical

COLD = -1
"""The number of the batch before live's first one."""
BY_BATCH = "write strategy: batch-exact in the contract, which needs no checkpoint"


class NoStreamStartError(PlanRefusedError):
    code = "plan.no-stream-start"


@dataclass(frozen=True)
class StreamCheckpoint:
    """A copy of live's checkpoint after one of its batches."""

    name: str
    query: str
    batch: int
    topic: str
    """UUID of the topic that the position is of."""
    position: Mapping[int, int]
    """The first offset of each partition that it does not contain."""
    watermark: int
    """In ms: windows that ended by then are not in its state any more."""
    event_time: str | None
    """The newest event in it."""
    code: str
    """Digest of the transform that made its state."""
    at: datetime

    def precedes(self, offsets: Mapping[int, int]) -> bool:
        """Whether it contains nothing at or after these offsets."""
        return precedes(self.position, offsets)

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return document

    @classmethod
    def read(cls, document: object) -> StreamCheckpoint:
        """The reverse of `document`. Raises ValueError for a field that is missing or of another type."""
        return _adapter().validate_json(json.dumps(document), strict=True)

    @property
    def digest(self) -> str:
        return hashlib.sha256(canonical(self.document()).encode()).hexdigest()


@cache
def _adapter() -> TypeAdapter[StreamCheckpoint]:
    return TypeAdapter(StreamCheckpoint)


@dataclass(frozen=True)
class StreamStart:
    """The start of the stream, as the plan pins it."""

    checkpoint: str | None
    """Name of the checkpoint; None: live's first batch, without state."""
    digest: str | None
    """Digest of the checkpoint's metadata."""
    batch: int
    """Live's last batch in it."""
    watermark: int
    position: Mapping[int, int]


def damage_of(readings: Mapping[int, Reading], live: Mapping[int, int]) -> dict[int, int]:
    """The first offset of each partition that windows of the range need."""
    return {
        number: min(each.ranges[0][0], live.get(number, each.ranges[0][0])) if each.ranges else live.get(number, 0)
        for number, each in readings.items()
    }


def choose_start(
    source: SourceFacts,
    target: TargetFacts,
    checkpoints: Iterable[StreamCheckpoint],
    damage: Mapping[int, int],
    until: datetime,
) -> tuple[StreamStart, tuple[WindowedBatch, ...]]:
    """The start, and live's batches from there to the first that closed every window up to `until`. Raises
    NoStreamStartError.

    A checkpoint before the damage contains no state of the range's windows, so none by the former code.
    """
    batches = [batch for batch in target.batches if batch.topic == source.uuid]
    limit = (until - EPOCH) // timedelta(milliseconds=1)
    good = last_good(checkpoints, source.uuid, damage)
    if good is not None:
        start = StreamStart(good.name, good.digest, good.batch, good.watermark, dict(good.position))
        following = chain(batches, good.query, good.batch, limit)
    else:
        newest = max(batches, key=lambda batch: batch.watermark, default=None)
        following = None if newest is None else chain(batches, newest.query, COLD, limit)
        start = StreamStart(
            None, None, COLD, 0, {p: first for p, (first, _) in (following[0].offsets if following else {}).items()}
        )
    if following is None or not _begins_at(following[0], start):
        raise _batches_unknown(target, good)
    if not precedes(start.position, damage):
        raise _refused(target, "live has no checkpoint before the range, and its first batch is not before it either")
    _require_kept(source, target, start, following)
    return start, following


def _begins_at(batch: WindowedBatch, start: StreamStart) -> bool:
    in_step = all(batch.offsets.get(partition, (None,))[0] == offset for partition, offset in start.position.items())
    return in_step and batch.late_before == start.watermark


def _require_kept(
    source: SourceFacts, target: TargetFacts, start: StreamStart, batches: Sequence[WindowedBatch]
) -> None:
    for partition, (_, end) in batches[-1].offsets.items():
        first, earliest = start.position.get(partition, 0), source.partitions[partition].earliest
        if first < min(earliest, end):
            since = "live's first batch" if start.checkpoint is None else f"the checkpoint {start.checkpoint}"
            lost = (
                f"{source.topic} has lost offsets {first} to {min(earliest, end) - 1} of partition {partition} after it"
            )
            raise _refused(target, f"it must continue from {since}, and {lost}")


def _batches_unknown(target: TargetFacts, good: StreamCheckpoint | None) -> NoStreamStartError:
    since = "since its first batch" if good is None else f"since the checkpoint {good.name}"
    no_checkpoint = "live has no checkpoint before the range, and " if good is None else ""
    return _refused(
        target, f"{no_checkpoint}the history of {target.table} does not contain all of live's commits {since}"
    )


def _refused(target: TargetFacts, why: str) -> NoStreamStartError:
    return NoStreamStartError(
        f"A stream-faithful replay of {target.table} has no start: {why}.", hint=BY_BATCH, why=why
    )
