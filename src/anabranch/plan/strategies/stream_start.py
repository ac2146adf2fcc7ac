"""Where a stream-faithful replay starts: the last kept checkpoint of live before the range, or live's beginning."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.plan.offsets.completeness import Reading
from anabranch.plan.ports import SourceFacts, TargetFacts
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.strategies.live_batches import LiveBatch, chain
from anabranch.plan.strategies.start_snapshots import last_good, precedes
from anabranch.plan.target_range import EPOCH
from anabranch.runs.canonical import canonical, instant, instant_text

COLD = -1
"""The number of the batch before live's first one."""
BY_BATCH = "write `strategy: batch-exact`, or none: windows are then computed from their events, with no checkpoint"


class NoStreamStartError(PlanRefusedError):
    code = "plan.no-stream-start"


@dataclass(frozen=True)
class StreamCheckpoint:
    """A copy of live's checkpoint as it was after one of its batches."""

    name: str
    query: str
    batch: int
    topic: str
    """UUID of the topic that the position is of."""
    position: Mapping[int, int]
    """The first offset of each partition that is not in it."""
    watermark: int
    """In ms: windows that ended by then are not in its state any more."""
    event_time: str | None
    """The newest event in it."""
    code: str
    """Digest of the transform that made its state."""
    at: datetime

    def precedes(self, offsets: Mapping[int, int]) -> bool:
        """Whether nothing at or after these offsets is in it."""
        return precedes(self.position, offsets)

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "query": self.query,
            "batch": self.batch,
            "topic": self.topic,
            "position": {str(p): offset for p, offset in sorted(self.position.items())},
            "watermark": self.watermark,
            "event_time": self.event_time,
            "code": self.code,
            "at": instant_text(self.at),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> StreamCheckpoint:
        """The reverse of `document`."""
        position = {int(p): offset for p, offset in document["position"].items()}
        return cls(**{**document, "position": position, "at": instant(document["at"])})

    @property
    def digest(self) -> str:
        return hashlib.sha256(canonical(self.document()).encode()).hexdigest()


@dataclass(frozen=True)
class StreamStart:
    """What a plan pins of it."""

    checkpoint: str | None
    """By name; None: live's beginning, with no state."""
    digest: str | None
    """Of what the checkpoint says of itself."""
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
) -> tuple[StreamStart, tuple[LiveBatch, ...]]:
    """The start, and live's batches from there to the first that had closed every window up to `until`.

    A checkpoint before the damage holds nothing of the range's windows, so nothing that the former code made of them.
    """
    batches = [batch for batch in target.batches if batch.topic == source.uuid]
    limit = (until - EPOCH) // timedelta(milliseconds=1)
    good = last_good(checkpoints, source.uuid, damage)
    if good is not None:
        start = StreamStart(good.name, good.digest, good.batch, good.watermark, dict(good.position))
        found = chain(batches, good.query, good.batch, limit)
    else:
        newest = max(batches, key=lambda batch: batch.watermark, default=None)
        found = None if newest is None else chain(batches, newest.query, COLD, limit)
        start = StreamStart(
            None, None, COLD, 0, {p: first for p, (first, _) in (found[0].offsets if found else {}).items()}
        )
    if found is None or not _begins_at(found[0], start):
        raise _untold(target, good)
    if not precedes(start.position, damage):
        raise _refused(target, "no checkpoint of live is from before the range, and its first batch is not either")
    _require_kept(source, target, start, found)
    return start, found


def _begins_at(batch: LiveBatch, start: StreamStart) -> bool:
    in_step = all(batch.offsets.get(partition, (None,))[0] == offset for partition, offset in start.position.items())
    return in_step and batch.late_before == start.watermark


def _require_kept(source: SourceFacts, target: TargetFacts, start: StreamStart, batches: Sequence[LiveBatch]) -> None:
    for partition, (_, end) in batches[-1].offsets.items():
        first, kept = start.position.get(partition, 0), source.partitions[partition].earliest
        if first < min(kept, end):
            since = "live's beginning" if start.checkpoint is None else f"the checkpoint {start.checkpoint}"
            lost = f"{source.topic} has lost offsets {first} to {min(kept, end) - 1} of partition {partition} since"
            raise _refused(target, f"it has to go on from {since}, and {lost}")


def _untold(target: TargetFacts, good: StreamCheckpoint | None) -> NoStreamStartError:
    since = "since live's beginning" if good is None else f"since the checkpoint {good.name}"
    no_checkpoint = "no checkpoint of live is from before the range, and " if good is None else ""
    return _refused(target, f"{no_checkpoint}not all of live's commits {since} are in the history of {target.table}")


def _refused(target: TargetFacts, why: str) -> NoStreamStartError:
    return NoStreamStartError(
        f"A stream-faithful replay of {target.table} has nowhere to start: {why}.", hint=BY_BATCH, why=why
    )
